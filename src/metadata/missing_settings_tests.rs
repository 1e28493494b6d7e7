//! Settings of topics and brokers whose nodes are deleted by hand, or change while they are read.

use std::sync::Arc;

use crate::metadata::hand_edit_tests::{
    clock, create, delete, edit, follow_until, follow_until_there, restore, start,
};
use crate::metadata::layout::BROKER_CONFIGS;
use crate::metadata::metadata_cache::MetadataCache;
use crate::metadata::problems::problems;
use crate::metadata::values::{BrokerConfigsValue, ConfigValue, encode};
use crate::metadata::{
    ConfigEdit, ConfigRules, ConfigTarget, Configs, MemoryStore, MetadataConfig, MetadataError,
    NewTopic, Op, Store,
};
use crate::types::{BrokerId, TopicName};

const UNCHECKED: ConfigRules<'_> = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };

#[tokio::test]
async fn a_topic_is_not_served_while_its_settings_are_missing() {
    let (metadata, _, person) = start().await;
    let (clicks, views) = ("clicks".parse().unwrap(), "views".parse().unwrap());
    let path = "/config/topics/clicks";
    for deleted in [path, "/config/topics"] {
        let nodes = delete(&person, deleted).await;
        follow_until(&metadata, |image| image.are_topic_configs_broken(&clicks)).await;
        let found = problems(&metadata.image().borrow());
        assert!(found.iter().any(|problem| problem.words.contains(path)), "{found:?}");
        let topic = ConfigTarget::Topic(clicks.clone());
        let edit = ConfigEdit::Set("flush.ms".to_owned(), "5".to_owned());
        let edit = metadata.edit_configs(&topic, &[edit], UNCHECKED).await;
        assert!(matches!(edit, Err(MetadataError::Malformed { .. })), "{edit:?}");
        // Others are created and served.
        let other = if deleted == path { "views" } else { "visits" };
        create(&metadata, other).await;
        assert!(!metadata.image().borrow().are_topic_configs_broken(&other.parse().unwrap()));
        let gone = nodes.into_iter().filter(|(path, _)| path != "/config/topics");
        restore(&person, gone.collect()).await;
        follow_until(&metadata, |image| !image.are_topic_configs_broken(&clicks)).await;
    }
    assert!(!metadata.image().borrow().are_topic_configs_broken(&views));
    delete(&person, path).await;
    let all = [ConfigEdit::Clear, ConfigEdit::Set("flush.ms".to_owned(), "5".to_owned())];
    metadata.edit_configs(&ConfigTarget::Topic(clicks.clone()), &all, UNCHECKED).await.unwrap();
    let image = metadata.current_image();
    assert_eq!(image.topic(&clicks).unwrap().configs["flush.ms"], "5");
}

#[tokio::test]
async fn settings_are_noted_in_a_topic_of_an_earlier_release_once_there_are_any() {
    let (metadata, _, person) = start().await;
    let clicks: TopicName = "clicks".parse().unwrap();
    delete(&person, "/config/topics/clicks").await;
    let path = "/brokers/topics/clicks";
    let value = person.get(path).await.unwrap().unwrap().value;
    let earlier = String::from_utf8(value.to_vec()).unwrap().replace("true", "false");
    edit(&person, path, &earlier).await;
    follow_until(&metadata, |image| !image.are_topic_configs_broken(&clicks)).await;
    let topic = ConfigTarget::Topic(clicks.clone());
    let edit = ConfigEdit::Set("flush.ms".to_owned(), "5".to_owned());
    metadata.edit_configs(&topic, &[edit], UNCHECKED).await.unwrap();
    delete(&person, "/config/topics/clicks").await;
    follow_until(&metadata, |image| image.are_topic_configs_broken(&clicks)).await;
}

#[tokio::test]
async fn missing_settings_of_brokers_count_as_unreadable() {
    let (metadata, _, person) = start().await;
    for broker in [None, Some(BrokerId(1)), Some(BrokerId(2))] {
        assert!(!metadata.image().borrow().are_broker_configs_broken(broker));
        let edit = ConfigEdit::Set("log.retention.ms".to_owned(), "-1".to_owned());
        let target = ConfigTarget::Broker(broker);
        metadata.edit_configs(&target, &[edit], UNCHECKED).await.unwrap();
        let path = broker
            .map_or("/config/brokers/<default>".to_owned(), |id| format!("/config/brokers/{id}"));
        // The parent remembers its children, and is missed itself.
        for deleted in [&path, "/config/brokers", "/config"] {
            let nodes = delete(&person, deleted).await;
            follow_until(&metadata, |image| image.are_broker_configs_broken(broker)).await;
            let found = problems(&metadata.image().borrow());
            assert!(found.iter().any(|problem| problem.words.contains(deleted)), "{found:?}");
            if deleted == "/config" {
                follow_until_there(&metadata, &person, "/config/topics").await;
            }
            let paths: Vec<String> = nodes.iter().map(|(path, _)| path.clone()).collect();
            let found = person.read(&paths).await.unwrap();
            let gone = nodes.into_iter().zip(found).filter(|(_, found)| found.is_none());
            restore(&person, gone.map(|(node, _)| node).collect()).await;
            follow_until(&metadata, |image| !image.are_broker_configs_broken(broker)).await;
        }
    }
    assert_eq!(problems(&metadata.image().borrow()), []);
}

/// The cache of a broker that has just started.
async fn cache_of(broker: BrokerId, store: Arc<MemoryStore>) -> MetadataCache {
    let mut cache = MetadataCache::new(store, clock(), broker, MetadataConfig::default());
    cache.resync().await.unwrap();
    cache
}

#[tokio::test]
async fn the_first_settings_of_brokers_are_not_missed_while_their_event_is_under_way() {
    let (metadata, store, _) = start().await;
    let mut cache = cache_of(BrokerId(2), Arc::clone(&store)).await;
    for broker in [None, Some(BrokerId(1))] {
        let edit = ConfigEdit::Set("log.retention.ms".to_owned(), "-1".to_owned());
        let target = ConfigTarget::Broker(broker);
        metadata.edit_configs(&target, &[edit], UNCHECKED).await.unwrap();
        cache.refresh(&[BROKER_CONFIGS.to_owned()]).await.unwrap();
        assert!(!cache.image().are_broker_configs_broken(broker));
    }
}

#[tokio::test]
async fn nodes_that_are_created_while_a_broker_reads_all_are_not_missed() {
    for call in 1..=12 {
        let (metadata, store, person) = start().await;
        let settings = NodeSettings { name: "<default>", value: ("flush.ms", "5") };
        let mut ops = settings.first_edit();
        // A topic that another broker creates.
        create(&metadata, "views").await;
        let paths = ["/brokers/topics/views", "/config/topics/views"];
        for path in paths {
            let nodes = delete(&person, path).await;
            ops.extend(nodes.into_iter().map(|(path, node)| Op::create(path, node.value)));
        }
        let slow = Arc::new(store.another());
        slow.write_before_call(call, ops);
        let image = cache_of(BrokerId(2), slow).await.image();
        let missing: Vec<String> = image.missing_nodes().collect();
        assert!(missing.is_empty(), "{missing:?} before call {call}");
        if let Some(topic) = image.topic(&"views".parse().unwrap()) {
            assert!(topic.numbered().all(|(_, partition)| partition.state.is_some()), "{call}");
        }
    }
}

/// A setting of brokers.
struct NodeSettings {
    /// The name of the node.
    name: &'static str,
    value: (&'static str, &'static str),
}

impl NodeSettings {
    /// The operations of the first edit of any settings of brokers.
    fn first_edit(&self) -> Vec<Op> {
        let (key, value) = self.value;
        let configs = Configs::from([(key.to_owned(), value.to_owned())]);
        let path = format!("{BROKER_CONFIGS}/{}", self.name);
        let mut parent = BrokerConfigsValue::default();
        parent.children.insert(self.name.to_owned());
        vec![
            Op::create(path, encode(&ConfigValue::new(configs))),
            Op::set(BROKER_CONFIGS, encode(&parent), 0),
        ]
    }
}

#[tokio::test]
async fn of_two_first_edits_at_once_both_take_effect() {
    // Two reads and a write.
    for call in 1..=3 {
        let (metadata, store, person) = start().await;
        let other = NodeSettings { name: "<default>", value: ("flush.ms", "5") };
        store.write_before_call(call, other.first_edit());
        let edit = ConfigEdit::Set("log.retention.ms".to_owned(), "-1".to_owned());
        let target = ConfigTarget::Broker(None);
        metadata.edit_configs(&target, &[edit], UNCHECKED).await.unwrap();
        let node = person.get("/config/brokers/<default>").await.unwrap().unwrap();
        let text = String::from_utf8(node.value.to_vec()).unwrap();
        assert!(text.contains("flush.ms") && text.contains("log.retention.ms"), "{call}: {text}");
    }
}

#[tokio::test]
async fn settings_that_are_left_of_a_topic_are_named_when_its_name_is_used_again() {
    let (metadata, _, person) = start().await;
    delete(&person, "/brokers/topics/clicks").await;
    follow_until(&metadata, |image| image.topic(&"clicks".parse().unwrap()).is_none()).await;
    let topic = NewTopic::named("clicks".parse().unwrap());
    let refusal = metadata.create_topic(&topic, &|_, _| Ok(())).await.unwrap_err();
    assert!(matches!(refusal, MetadataError::TopicExists { is_left: true, .. }), "{refusal}");
    assert!(refusal.to_string().contains("/config/topics/clicks"), "{refusal}");
    delete(&person, "/config/topics/clicks").await;
    create(&metadata, "clicks").await;
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_topic_whose_settings_are_unreadable() {
    let (metadata, _, person) = start().await;
    let clicks: TopicName = "clicks".parse().unwrap();
    edit(&person, "/config/topics/clicks", "{").await;
    follow_until(&metadata, |image| image.are_topic_configs_broken(&clicks)).await;
    let id = metadata.current_image().topic(&clicks).unwrap().id;
    metadata.delete_topic(id).await.unwrap();
    assert!(person.get("/config/topics/clicks").await.unwrap().is_none());
    create(&metadata, "clicks").await;
}

#[tokio::test]
async fn the_remedy_for_the_parent_of_settings_is_one_that_helps() {
    let (metadata, _, person) = start().await;
    delete(&person, BROKER_CONFIGS).await;
    let edit = [ConfigEdit::Clear, ConfigEdit::Set("flush.ms".to_owned(), "5".to_owned())];
    let target = ConfigTarget::Broker(None);
    let refusal = metadata.edit_configs(&target, &edit, UNCHECKED).await.unwrap_err().to_string();
    assert!(refusal.contains("create it without a value"), "{refusal}");
    person.multi(vec![Op::create(BROKER_CONFIGS, "")]).await.unwrap();
    metadata.edit_configs(&target, &edit, UNCHECKED).await.unwrap();
}
