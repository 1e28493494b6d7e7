//! The image under arbitrary bytes and orders of nodes, and its differences.

use proptest::prelude::*;

use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::store::SessionId;
use crate::metadata::values::{ConfigValue, TombstoneValue, TopicValue, encode};
use crate::metadata::{Configs, Delta, Image, Node};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName};

const IDS: [[u8; 16]; 2] = [[1; 16], [2; 16]];

fn paths() -> impl Strategy<Value = String> {
    let tombstones: Vec<String> =
        IDS.iter().map(|id| format!("/admin/deleted_topics/{}", TopicId(*id))).collect();
    let fixed = [
        "/",
        "/streamlog",
        "/streamlog/brokers/1",
        "/cluster/id",
        "/brokers/ids/1",
        "/brokers/topics/a",
        "/brokers/topics/b",
        "/brokers/topics/a/partitions/0/state",
        "/brokers/topics/a/partitions/1/state",
        "/brokers/topics/b/partitions/7/state",
        "/config/topics/a",
        "/config/brokers/<default>",
        "/config/brokers/1",
        "/controller",
        "/controller_epoch",
        "/latest_producer_id_block",
    ];
    let all: Vec<String> = fixed.into_iter().map(str::to_owned).chain(tombstones).collect();
    prop_oneof![9 => prop::sample::select(all), 1 => "(/[a-z0-9<.-]{0,8}){0,5}"]
}

/// Values that are valid for some node, and some that are valid for none.
fn values() -> impl Strategy<Value = Vec<u8>> {
    let topic = |id: [u8; 16], n: usize| {
        encode(&TopicValue::new(TopicId(id), &vec![vec![BrokerId(1)]; n])).to_vec()
    };
    let config = ConfigValue::new(Configs::from([("retention.ms".to_owned(), "1".to_owned())]));
    let state = |leader: i32, isr: &str| {
        format!(
            r#"{{"version":1,"leader":{leader},"leader_epoch":3,"controller_epoch":1,"isr":{isr}}}"#
        )
        .into_bytes()
    };
    let fitting = vec![
        topic(IDS[0], 1),
        topic(IDS[0], 2),
        topic(IDS[1], 2),
        encode(&config).to_vec(),
        encode(&TombstoneValue::new("a", 1, vec![1], 5)).to_vec(),
        state(1, "[1]"),
        state(-1, "[1,2]"),
        br#"{"version":2,"brokerid":1,"timestamp":"5"}"#.to_vec(),
        br#"{"version":5,"host":"h","port":1,"endpoints":["A://h:1"]}"#.to_vec(),
        br#"{"version":"1","id":"abc"}"#.to_vec(),
        br#"{"version":1,"rack":"r","directory_id":"d"}"#.to_vec(),
    ];
    let nearly = (prop::sample::select(fitting.clone()), any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        4 => prop::sample::select(fitting),
        1 => nearly.prop_map(|(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn events() -> impl Strategy<Value = Vec<(String, Option<Node>)>> {
    let node = (values(), 0..9_i32, 0..9_i64).prop_map(|(value, version, created)| Node {
        value: value.into(),
        version,
        created,
        owner: Some(SessionId::PAST),
    });
    prop::collection::vec((paths(), prop::option::weighted(0.8, node)), 0..40)
}

/// The image of the last event of each path, built from scratch.
fn rebuilt(events: &[(String, Option<Node>)]) -> Image {
    let last: std::collections::BTreeMap<_, _> =
        events.iter().map(|(path, node)| (path, node)).collect();
    let mut builder = ImageBuilder::default();
    for (path, node) in last {
        builder.put(path, node.as_ref());
    }
    builder.build()
}

proptest! {
    #[test]
    fn no_node_panics_the_image_and_incremental_and_full_reads_agree(
        events in events(),
    ) {
        let mut builder = ImageBuilder::default();
        for (told, (path, node)) in events.iter().enumerate() {
            builder.put(path, node.as_ref());
            if told % 3 == 0 {
                builder.build();
            }
        }
        prop_assert_eq!(builder.build(), rebuilt(&events));
    }

    #[test]
    fn a_difference_names_every_topic_that_differs_and_no_other(
        before in events(),
        after in events(),
    ) {
        let mut builder = ImageBuilder::default();
        for (path, node) in &before {
            builder.put(path, node.as_ref());
        }
        let old = builder.build();
        for (path, node) in &after {
            builder.put(path, node.as_ref());
        }
        let new = builder.build();
        let delta = Delta::between(&old, &new);
        let named = |name: &TopicName| {
            let all = delta.added.iter().chain(&delta.removed).chain(&delta.changed);
            all.into_iter().any(|topic| topic.name == *name)
        };
        for name in old.topics().chain(new.topics()).map(|topic| &topic.name) {
            prop_assert_eq!(named(name), old.topic(name) != new.topic(name), "{}", name);
        }
        prop_assert!(Delta::between(&new, &new).is_empty());
        prop_assert_eq!(old == new || old.broken() != new.broken()
            || old.cluster_id() != new.cluster_id() || !delta.is_empty()
            || old.deleting().count() + new.deleting().count() > 0, true);
    }
}

#[test]
fn a_broken_node_is_named_and_harms_only_its_topic() {
    let mut builder = ImageBuilder::default();
    let put = |builder: &mut ImageBuilder, path: &str, value: &[u8]| {
        let node = Node { value: value.to_vec().into(), version: 3, created: 1, owner: None };
        builder.put(path, Some(&node));
    };
    let sound = encode(&TopicValue::new(TopicId(IDS[0]), &[vec![BrokerId(1)]]));
    put(&mut builder, "/brokers/topics/sound", &sound);
    put(&mut builder, "/brokers/topics/odd", br#"{"version":3,"topic_id":"x","partitions":{}}"#);
    let image = builder.build();
    assert!(image.topic(&"sound".parse().unwrap()).is_some());
    assert!(image.topic(&"odd".parse().unwrap()).is_none());
    let broken = &image.broken()["/brokers/topics/odd"];
    assert!(broken.reason.contains("topic_id"), "{}", broken.reason);
    assert_eq!(broken.version, 3);

    put(
        &mut builder,
        "/brokers/topics/odd",
        &encode(&TopicValue::new(TopicId(IDS[1]), &[vec![BrokerId(1)]])),
    );
    let image = builder.build();
    assert!(image.broken().is_empty());
    assert_eq!(image.topic_by_id(TopicId(IDS[1])).unwrap().name.as_str(), "odd");
}

#[test]
fn a_leader_is_alive_as_long_as_it_is_registered() {
    let mut builder = ImageBuilder::default();
    let put = |builder: &mut ImageBuilder, path: &str, value: &[u8], owner| {
        let node = Node { value: value.to_vec().into(), version: 0, created: 1, owner };
        builder.put(path, Some(&node));
    };
    let live_leader = |builder: &mut ImageBuilder| {
        let image = builder.build();
        let partition = image.partition(&"a".parse().unwrap(), PartitionIndex(0)).unwrap();
        assert_eq!(partition.leader(), Some(BrokerId(1)));
        image.live_leader(partition)
    };
    let topic = encode(&TopicValue::new(TopicId(IDS[0]), &[vec![BrokerId(1)]]));
    put(&mut builder, "/brokers/topics/a", &topic, None);
    let broker = br#"{"version":5,"host":"h","port":1,"endpoints":["A://h:1"]}"#;
    put(&mut builder, "/brokers/ids/1", broker, Some(SessionId::PAST));
    let state = br#"{"version":1,"leader":1,"leader_epoch":3,"controller_epoch":1,"isr":[1]}"#;
    put(&mut builder, "/brokers/topics/a/partitions/0/state", state, None);
    assert_eq!(live_leader(&mut builder), Some(BrokerId(1)));
    builder.put("/brokers/ids/1", None);
    assert_eq!(live_leader(&mut builder), None);
    put(&mut builder, "/brokers/ids/1", broker, None);
    assert_eq!(live_leader(&mut builder), None, "by a registration of no session");
    assert!(builder.build().broken().contains_key("/brokers/ids/1"));
}
