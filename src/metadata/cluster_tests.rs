//! Brokers on one embedded store: alone, restarted, and competing with each other.

use std::path::Path;
use std::sync::Arc;

use crate::config::ConfigError;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, Disk, ManualClock, MemoryDisk};
use crate::metadata::controller::ControllerClaim;
use crate::metadata::{
    ConfigEdit, ConfigRules, ConfigTarget, Configs, EmbeddedStore, Image, Incarnation, Metadata,
    MetadataConfig, MetadataError, NewTopic, Op, Registration, Remedy, Store, StoreError,
};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicName};

fn store_on(disk: &Arc<dyn Disk>) -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::open(Arc::clone(disk), Path::new("/data/metadata")).unwrap())
}

fn fresh() -> Arc<dyn Store> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    store_on(&disk)
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

async fn open(store: &Arc<dyn Store>, id: i32) -> Result<Metadata, MetadataError> {
    let config = MetadataConfig::default();
    Metadata::open(Arc::clone(store), clock(), BrokerId(id), None, config).await
}

async fn start(store: &Arc<dyn Store>, id: i32) -> (Metadata, Incarnation) {
    let metadata = open(store, id).await.unwrap();
    let incarnation = metadata.register(&Registration::default()).await.unwrap();
    (metadata, incarnation)
}

fn image(metadata: &Metadata) -> Arc<Image> {
    Arc::clone(&metadata.image().borrow())
}

fn no_retention(_: Option<&Configs>, after: &Configs) -> Result<(), ConfigError> {
    match after.get("retention.ms") {
        Some(_) => Err(ConfigError::single("retention.ms", "not here")),
        None => Ok(()),
    }
}

fn topic(name: &str, partitions: i32) -> NewTopic {
    NewTopic { partitions, ..NewTopic::named(name.parse().unwrap()) }
}

fn name(text: &str) -> TopicName {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_topic_is_led_when_its_creation_returns_and_in_a_new_epoch_after_a_restart() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let (metadata, first_life) = start(&store_on(&disk), 1).await;
    let cluster_id = image(&metadata).cluster_id().to_owned();
    assert_eq!(cluster_id.len(), 22);
    let id = metadata.create_topic(&topic("clicks", 3), &no_retention).await.unwrap();
    let seen = image(&metadata);
    let created = seen.topic(&name("clicks")).unwrap();
    assert_eq!((created.id, created.partitions.len()), (id, 3));
    for partition in &created.partitions {
        assert_eq!(partition.leader(), Some(BrokerId(1)));
        assert_eq!(partition.leader_epoch(), LeaderEpoch(0));
        assert_eq!(partition.isr()[0].incarnation, first_life);
    }
    drop(metadata);

    let store = store_on(&disk);
    let metadata = open(&store, 1).await.unwrap();
    assert_eq!(image(&metadata).topic_by_id(id).unwrap().name, name("clicks"));
    assert_eq!(image(&metadata).brokers().len(), 0, "it has not registered yet");
    let second_life = metadata.register(&Registration::default()).await.unwrap();
    assert!(second_life > first_life);
    let seen = image(&metadata);
    assert_eq!(seen.cluster_id(), cluster_id);
    let partition = seen.partition(&name("clicks"), PartitionIndex(2)).unwrap();
    assert_eq!(partition.leader_epoch(), LeaderEpoch(1));
    assert_eq!(partition.state.as_ref().unwrap().leader_incarnation, second_life);
}

#[tokio::test]
async fn an_invalid_topic_is_refused_with_the_reason() {
    let (metadata, _) = start(&fresh(), 1).await;
    metadata.create_topic(&topic("a", 1), &no_retention).await.unwrap();
    let refused = |topic: NewTopic| {
        let metadata = &metadata;
        async move {
            let error = metadata.create_topic(&topic, &no_retention).await.unwrap_err();
            assert!(image(metadata).topic(&name("b")).is_none());
            error
        }
    };
    assert!(matches!(
        refused(topic("a", 1)).await,
        MetadataError::TopicExists { is_left: false, .. }
    ));
    for partitions in [0, -2, 10_001] {
        let error = refused(topic("b", partitions)).await;
        assert!(matches!(error, MetadataError::InvalidPartitions { .. }), "{error}");
    }
    let error = refused(NewTopic { replication_factor: 2, ..topic("b", 1) }).await;
    assert!(matches!(error, MetadataError::InvalidReplicationFactor { asked: 2, known: 1 }));
    for replicas in [vec![], vec![BrokerId(1); 2], vec![BrokerId(9)]] {
        let assignment = vec![replicas];
        let error = refused(NewTopic { assignment, ..topic("b", -1) }).await;
        assert!(matches!(error, MetadataError::InvalidAssignment { partition: 0, .. }), "{error}");
    }
    let configs = Configs::from([("retention.ms".to_owned(), "1".to_owned())]);
    let error = refused(NewTopic { configs, ..topic("b", 1) }).await;
    assert!(matches!(error, MetadataError::InvalidConfig(_)), "{error}");
    assert_eq!(error.remedy(), Remedy::Reject);
}

#[tokio::test]
async fn a_deleted_topic_leaves_a_tombstone_until_its_data_is_removed_and_frees_its_name() {
    let (metadata, _) = start(&fresh(), 1).await;
    let old = metadata.create_topic(&topic("clicks", 3), &no_retention).await.unwrap();
    metadata.delete_topic(old).await.unwrap();
    assert!(image(&metadata).topic_by_id(old).is_none());
    assert_eq!(image(&metadata).tombstone(old).unwrap().pending, [BrokerId(1)]);
    assert_eq!(metadata.store().children("/brokers/topics").await.unwrap(), Vec::<String>::new());
    let again = metadata.delete_topic(old).await.unwrap_err();
    assert!(matches!(again, MetadataError::UnknownTopic(_)), "{again}");

    let new = metadata.create_topic(&topic("clicks", 1), &no_retention).await.unwrap();
    assert_ne!(new, old);
    metadata.topic_data_removed(old).await.unwrap();
    assert!(image(&metadata).tombstone(old).is_none());
    metadata.topic_data_removed(old).await.unwrap();
    assert_eq!(image(&metadata).topic(&name("clicks")).unwrap().id, new);
    metadata.topic_data_removed(TopicId::random()).await.unwrap();
}

#[tokio::test]
async fn partitions_are_added_and_never_taken_away() {
    let (metadata, _) = start(&fresh(), 1).await;
    metadata.create_topic(&topic("clicks", 2), &no_retention).await.unwrap();
    metadata.create_partitions(&name("clicks"), 12, &[]).await.unwrap();
    let seen = image(&metadata);
    let grown = seen.topic(&name("clicks")).unwrap();
    assert_eq!(grown.partitions.len(), 12);
    assert!(grown.is_ready());
    for total in [12, 1, 10_001] {
        let error = metadata.create_partitions(&name("clicks"), total, &[]).await.unwrap_err();
        assert!(matches!(error, MetadataError::InvalidPartitions { .. }), "{error}");
    }
    let one = [vec![BrokerId(1)]];
    let error = metadata.create_partitions(&name("clicks"), 14, &one).await.unwrap_err();
    assert!(matches!(error, MetadataError::InvalidAssignment { partition: 13, .. }), "{error}");
    let absent = [vec![BrokerId(1)], vec![BrokerId(9)]];
    let error = metadata.create_partitions(&name("clicks"), 14, &absent).await.unwrap_err();
    assert!(matches!(error, MetadataError::InvalidAssignment { partition: 13, .. }), "{error}");
    let error = metadata.create_partitions(&name("none"), 2, &[]).await.unwrap_err();
    assert!(matches!(error, MetadataError::UnknownTopic(_)), "{error}");
}

#[tokio::test]
async fn settings_are_changed_atomically() {
    let (metadata, _) = start(&fresh(), 1).await;
    metadata.create_topic(&topic("clicks", 1), &no_retention).await.unwrap();
    let inherited_list = |name: &str| (name == "cleanup.policy").then(|| "delete".to_owned());
    let rules = ConfigRules { check: &no_retention, inherited_list: &inherited_list };
    let set = |name: &str, value: &str| ConfigEdit::Set(name.to_owned(), value.to_owned());
    let target = ConfigTarget::Topic(name("clicks"));

    let append = ConfigEdit::Append("cleanup.policy".to_owned(), "compact".to_owned());
    metadata.edit_configs(&target, &[append, set("flush.ms", "5")], rules).await.unwrap();
    let configs = || Configs::clone(&image(&metadata).topic(&name("clicks")).unwrap().configs);
    let expected = [("cleanup.policy", "delete,compact"), ("flush.ms", "5")];
    let expected: Configs =
        expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    assert_eq!(configs(), expected);

    let edits = [ConfigEdit::Clear, set("retention.ms", "1")];
    let error = metadata.edit_configs(&target, &edits, rules).await.unwrap_err();
    assert!(matches!(error, MetadataError::InvalidConfig(_)), "{error}");
    assert_eq!(configs(), expected);

    let unknown = ConfigTarget::Topic(name("none"));
    let error = metadata.edit_configs(&unknown, &[set("a", "1")], rules).await.unwrap_err();
    assert!(matches!(error, MetadataError::UnknownTopic(_)), "{error}");
    for broker in [None, Some(BrokerId(1))] {
        let target = ConfigTarget::Broker(broker);
        metadata.edit_configs(&target, &[set("log.flush.ms", "7")], rules).await.unwrap();
        assert_eq!(image(&metadata).broker_configs(broker).unwrap()["log.flush.ms"], "7");
    }
}

#[tokio::test]
async fn a_producer_id_is_assigned_once_even_across_a_restart() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let mut last = -1;
    for _ in 0..3 {
        let (metadata, _) = start(&store_on(&disk), 1).await;
        for _ in 0..1500 {
            let id = metadata.new_producer_id().await.unwrap();
            assert!(id.0 > last, "{id} after {last}");
            last = id.0;
        }
    }
}

#[tokio::test]
async fn foreign_trees_other_clusters_and_newer_formats_are_refused() {
    let foreign = fresh();
    foreign.multi(vec![Op::create("/brokers", "")]).await.unwrap();
    let error = open(&foreign, 1).await.unwrap_err();
    assert!(matches!(error, MetadataError::ForeignStore { .. }), "{error}");

    let store = fresh();
    let open_as = |cluster: &'static str| {
        let (store, config) = (Arc::clone(&store), MetadataConfig::default());
        Metadata::open(store, clock(), BrokerId(1), Some(cluster), config)
    };
    let metadata = open_as("AAAAAAAAAAAAAAAAAAAAAA").await.unwrap();
    assert_eq!(image(&metadata).cluster_id(), "AAAAAAAAAAAAAAAAAAAAAA");
    let error = open_as("BBBBBBBBBBBBBBBBBBBBBB").await.unwrap_err();
    assert!(error.to_string().contains("cluster AAAA"), "{error}");

    store.multi(vec![Op::set("/streamlog", r#"{"format":2}"#, 0)]).await.unwrap();
    let error = open_as("AAAAAAAAAAAAAAAAAAAAAA").await.unwrap_err();
    assert!(matches!(error, MetadataError::NewerFormat { found: 2, newest: 1 }), "{error}");
    assert_eq!(error.remedy(), Remedy::Fatal);
}

#[tokio::test(start_paused = true)]
async fn a_second_broker_follows_and_takes_over_as_controller_with_all_pending_work() {
    let store = fresh();
    let (first, _) = start(&store, 1).await;
    let (second, _) = start(&store, 2).await;
    assert_eq!(image(&second).controller().unwrap().broker, BrokerId(1));
    let mut changes = second.changes();

    let followed = async {
        first.reload(&["/brokers/ids/2".to_owned()]).await.unwrap();
        let topic = NewTopic { replication_factor: 2, ..topic("clicks", 4) };
        first.create_topic(&topic, &no_retention).await.unwrap();
        while changes.next().await.unwrap().0.topic(&name("clicks")).is_none_or(|t| !t.is_ready()) {
        }
        // The first broker is gone, and its session with it.
        store.multi(vec![Op::delete("/controller", 0)]).await.unwrap();
        store.multi(vec![Op::delete("/brokers/ids/1", 0)]).await.unwrap();
        loop {
            let (image, _) = changes.next().await.unwrap();
            let topic = image.topic(&name("clicks")).unwrap();
            let led = |p: &crate::metadata::Partition| p.leader() == Some(BrokerId(2));
            if image.controller().is_some_and(|c| c.broker == BrokerId(2))
                && topic.partitions.iter().all(led)
            {
                return;
            }
        }
    };
    tokio::select! {
        () = followed => {}
        error = second.run() => panic!("{error}"),
    }
    // The first broker does not know yet that it was replaced; its writes as controller are
    // refused.
    let epoch =
        image(&second).partition(&name("clicks"), PartitionIndex(0)).unwrap().leader_epoch();
    first.create_partitions(&name("clicks"), 5, &[]).await.unwrap();
    second.reload(&["/brokers/topics/clicks".to_owned()]).await.unwrap();
    let seen = image(&second);
    let topic = seen.topic(&name("clicks")).unwrap();
    assert_eq!(topic.partitions[0].leader_epoch(), epoch);
    assert!(topic.partitions[4].state.is_none(), "a deposed controller wrote");
}

#[tokio::test]
async fn a_broker_whose_registration_is_gone_does_not_become_controller() {
    let store = fresh();
    let (first, _) = start(&store, 1).await;
    store.multi(vec![Op::delete("/controller", 0)]).await.unwrap();
    store.multi(vec![Op::delete("/brokers/ids/1", 0)]).await.unwrap();
    let (none, now) = (Image::default(), clock().now());
    let claim = ControllerClaim::acquire(&*store, first.broker(), &none, now).await;
    assert_eq!(claim.unwrap(), None);
    assert_eq!(store.get("/controller").await.unwrap(), None);
}

#[tokio::test]
async fn a_topic_of_ten_thousand_partitions_can_be_created_and_deleted() {
    let (metadata, _) = start(&fresh(), 1).await;
    let id = metadata.create_topic(&topic("wide", 10_000), &no_retention).await.unwrap();
    assert!(image(&metadata).topic_by_id(id).unwrap().is_ready());
    assert_eq!(image(&metadata).partitions_of(BrokerId(1)).count(), 10_000);
    metadata.delete_topic(id).await.unwrap();
    metadata.topic_data_removed(id).await.unwrap();
    let left = metadata.store().snapshot("/brokers/topics").await.unwrap();
    assert_eq!(left.len(), 1);
}

#[tokio::test]
async fn a_failed_store_ends_the_session_and_shows_nothing_new() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let store: Arc<dyn Disk> = Arc::new(disk.clone());
    let (metadata, _) = start(&store_on(&store), 1).await;
    let before = image(&metadata);
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput));
    let error = metadata.create_topic(&topic("clicks", 1), &no_retention).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::Fatal, "{error}");
    let over = metadata.run().await;
    assert!(matches!(&over, MetadataError::Store(StoreError::Failed { .. })), "{over}");
    assert_eq!(image(&metadata), before);
}

#[test]
fn operations_may_run_on_any_thread() {
    fn sends<T: Send>(_: impl FnOnce(Metadata) -> T) {}
    sends(|metadata| async move {
        let topic = topic("a", 1);
        let id = metadata.create_topic(&topic, &no_retention).await?;
        metadata.create_partitions(&topic.name, 2, &[]).await?;
        metadata.delete_topic(id).await?;
        metadata.topic_data_removed(id).await?;
        metadata.new_producer_id().await?;
        metadata.changes().next().await;
        Err::<(), MetadataError>(metadata.run().await)
    });
    sends(|metadata| async move {
        let rules = ConfigRules { check: &no_retention, inherited_list: &|_| None };
        metadata.edit_configs(&ConfigTarget::Broker(None), &[], rules).await
    });
}
