//! Changes are in force and durable when they are answered, and invalid ones are refused.

use streamlog::types::TopicId;
use streamlog::wire::delete_records::{self, DeleteRecordsRequest};
use streamlog::wire::delete_topics::{self, DeleteTopicsRequest};
use streamlog::wire::describe_configs::{
    self, DescribeConfigsRequest, RESOURCE_BROKER, RESOURCE_CLIENT_METRICS, RESOURCE_GROUP,
    RESOURCE_TOPIC, SOURCE_DEFAULT, SOURCE_DYNAMIC_BROKER, SOURCE_DYNAMIC_DEFAULT_BROKER,
    SOURCE_STATIC_BROKER, SOURCE_TOPIC,
};
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::incremental_alter_configs::{
    self as alter, DELETE, IncrementalAlterConfigsRequest, SET,
};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};
use streamlog::wire::offset_for_leader_epoch::{self as epochs, OffsetForLeaderEpochRequest};
use streamlog::wire::{ErrorCode, create_topics};

use crate::support::{Connection, LocalBroker, TOPIC, batch};

/// Changes one setting.
fn change(
    client: &mut Connection,
    (kind, name): (i8, &str),
    (setting, value): (&str, Option<&str>),
) -> ErrorCode {
    let config = alter::RequestConfig {
        name: setting.to_owned(),
        config_operation: if value.is_some() { SET } else { DELETE },
        value: value.map(str::to_owned),
    };
    let resource = alter::RequestResource {
        resource_type: kind,
        resource_name: name.to_owned(),
        configs: vec![config],
    };
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    client.call(1, &request).unwrap().responses[0].error_code
}

/// The settings of a topic or broker by these names, none for all.
fn described(
    client: &mut Connection,
    (kind, name): (i8, &str),
    names: &[&str],
) -> describe_configs::Resource {
    let keys = names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let resource = describe_configs::RequestResource {
        resource_type: kind,
        resource_name: name.to_owned(),
        configuration_keys: (!keys.is_empty()).then_some(keys),
    };
    let request = DescribeConfigsRequest {
        resources: vec![resource],
        include_synonyms: true,
        include_documentation: true,
    };
    client.call(4, &request).unwrap().results.remove(0)
}

/// The sources of the test topic's retention, in falling order of precedence.
fn places(client: &mut Connection) -> Vec<(i8, String)> {
    let configs = described(client, (RESOURCE_TOPIC, TOPIC), &["retention.ms"]).configs;
    assert_eq!(configs.len(), 1);
    assert!(configs[0].documentation.as_deref().is_some_and(|text| !text.is_empty()));
    let said =
        |synonym: &describe_configs::Synonym| (synonym.source, synonym.value.clone().unwrap());
    configs[0].synonyms.iter().map(said).collect()
}

fn said(places: &[(i8, &str)]) -> Vec<(i8, String)> {
    places.iter().map(|(source, value)| (*source, (*value).to_owned())).collect()
}

#[test]
fn what_is_said_of_a_topic_counts_more_than_of_its_broker_and_of_all() {
    let broker = LocalBroker::new(1, &[("log.retention.ms", "1000")]);
    let mut client = broker.connect();
    let retention = |value| ("log.retention.ms", value);
    for (resource, setting) in [
        ((RESOURCE_BROKER, ""), retention(Some("2000"))),
        ((RESOURCE_BROKER, "1"), retention(Some("3000"))),
        ((RESOURCE_TOPIC, TOPIC), ("retention.ms", Some("4000"))),
    ] {
        assert_eq!(change(&mut client, resource, setting), ErrorCode::None);
    }
    let all = said(&[
        (SOURCE_TOPIC, "4000"),
        (SOURCE_DYNAMIC_BROKER, "3000"),
        (SOURCE_DYNAMIC_DEFAULT_BROKER, "2000"),
        (SOURCE_STATIC_BROKER, "1000"),
        (SOURCE_DEFAULT, "604800000"),
    ]);
    assert_eq!(places(&mut client), all);

    let disk = broker.cut_power(1);
    let broker = LocalBroker::on(disk, &[]).unwrap();
    let mut client = broker.connect();
    let mut kept = all;
    kept.remove(3);
    assert_eq!(places(&mut client), kept);
    let dropped = [
        ((RESOURCE_TOPIC, TOPIC), ("retention.ms", None)),
        ((RESOURCE_BROKER, "1"), retention(None)),
    ];
    for (resource, setting) in dropped {
        assert_eq!(change(&mut client, resource, setting), ErrorCode::None);
        kept.remove(0);
        assert_eq!(places(&mut client), kept);
    }
    let of_all = described(&mut client, (RESOURCE_BROKER, ""), &[]).configs;
    let names: Vec<&str> = of_all.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(names, ["log.retention.ms", "min.insync.replicas"], "what is said of all brokers");
    broker.stop().unwrap();
}

#[test]
fn settings_of_what_is_not_here_are_refused() {
    let broker = LocalBroker::new(2, &[]);
    let mut client = broker.connect();
    for (resource, code) in [
        ((RESOURCE_BROKER, "7"), ErrorCode::InvalidRequest),
        ((RESOURCE_TOPIC, "nobody"), ErrorCode::UnknownTopicOrPartition),
        ((RESOURCE_TOPIC, "../up"), ErrorCode::InvalidTopicException),
        ((99, "x"), ErrorCode::InvalidRequest),
    ] {
        assert_eq!(described(&mut client, resource, &[]).error_code, code, "{resource:?}");
        let refused = change(&mut client, resource, ("retention.ms", Some("1")));
        assert_eq!(refused, code, "{resource:?}");
    }
    broker.stop().unwrap();
}

fn first_offset_after_deleting(client: &mut Connection, offset: i64) -> (ErrorCode, i64) {
    let partition = delete_records::RequestPartition { offset, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 1000 };
    let answer = &client.call(2, &request).unwrap().topics[0].partitions[0];
    (answer.error_code, answer.low_watermark)
}

#[test]
fn deleted_records_stay_deleted_after_a_power_cut() {
    let broker = LocalBroker::new(3, &[]);
    let mut client = broker.connect();
    assert_eq!(first_offset_after_deleting(&mut client, -1), (ErrorCode::None, 0), "none yet");
    for number in 0..10 {
        client.produce(batch([number]), 1).unwrap().unwrap();
    }
    assert_eq!(first_offset_after_deleting(&mut client, 6), (ErrorCode::None, 6));
    assert_eq!(first_offset_after_deleting(&mut client, 4), (ErrorCode::None, 6), "no way back");
    for beyond in [11, -2] {
        let refused = first_offset_after_deleting(&mut client, beyond);
        assert_eq!(refused, (ErrorCode::OffsetOutOfRange, -1));
    }
    let broker = LocalBroker::on(broker.cut_power(3), &[]).unwrap();
    let mut client = broker.connect();
    client.send_fetch(5, std::time::Duration::ZERO).unwrap();
    assert_eq!(client.receive_records().unwrap().error_code, ErrorCode::OffsetOutOfRange);
    assert_eq!(client.read_from(6).unwrap().len(), 4);
    assert_eq!(first_offset_after_deleting(&mut client, -1), (ErrorCode::None, 10));
    broker.stop().unwrap();
}

/// The epoch found and where it ended, of partition 0 of the test's topic.
fn end_of(client: &mut Connection, leader_epoch: i32, current: i32) -> (ErrorCode, i32, i64) {
    let partition =
        epochs::RequestPartition { partition: 0, current_leader_epoch: current, leader_epoch };
    let topic = epochs::RequestTopic { topic: TOPIC.to_owned(), partitions: vec![partition] };
    let request = OffsetForLeaderEpochRequest { replica_id: -1, topics: vec![topic] };
    let answer = &client.call(4, &request).unwrap().topics[0].partitions[0];
    (answer.error_code, answer.leader_epoch, answer.end_offset)
}

#[test]
fn a_reader_is_told_where_an_epoch_ended() {
    let broker = LocalBroker::new(4, &[]);
    let mut client = broker.connect();
    assert_eq!(end_of(&mut client, 0, -1), (ErrorCode::None, 0, 0), "before the first record");
    client.produce(batch([0, 1]), 1).unwrap().unwrap();
    assert_eq!(end_of(&mut client, 0, 0), (ErrorCode::None, 0, 2));

    let broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
    let mut client = broker.connect();
    let topics = client.call(9, &MetadataRequest { topics: None, ..Default::default() }).unwrap();
    let epoch = topics.topics[0].partitions[0].leader_epoch;
    assert!(epoch > 0, "every start begins a new leader epoch");
    client.produce(batch([2]), 1).unwrap().unwrap();
    assert_eq!(end_of(&mut client, 0, epoch), (ErrorCode::None, 0, 2));
    assert_eq!(end_of(&mut client, epoch, epoch), (ErrorCode::None, epoch, 3));
    assert_eq!(end_of(&mut client, epoch + 1, -1), (ErrorCode::None, -1, -1));
    assert_eq!(end_of(&mut client, 0, epoch - 1).0, ErrorCode::FencedLeaderEpoch);
    assert_eq!(end_of(&mut client, 0, epoch + 1).0, ErrorCode::UnknownLeaderEpoch);
    broker.stop().unwrap();
}

#[test]
fn a_topic_is_deleted_by_its_id_and_named_once() {
    let broker = LocalBroker::new(5, &[]);
    let mut client = broker.connect();
    let new = create_topics::RequestTopic {
        name: "other".to_owned(),
        num_partitions: 2,
        replication_factor: -1,
        ..Default::default()
    };
    let make = |topics| create_topics::CreateTopicsRequest { topics, ..Default::default() };
    let twice = client.call(7, &make(vec![new.clone(), new.clone()])).unwrap();
    let codes: Vec<_> = twice.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [ErrorCode::InvalidRequest]);
    let created = client.call(7, &make(vec![new])).unwrap().topics.remove(0);
    assert_eq!((created.num_partitions, created.replication_factor), (2, 1));
    assert!(
        created.topic_id != TopicId::NONE && created.configs.is_some_and(|all| !all.is_empty())
    );

    let mut delete = |name: Option<&str>, topic_id| {
        let topic = delete_topics::RequestTopic { name: name.map(str::to_owned), topic_id };
        let request = DeleteTopicsRequest { topics: vec![topic], ..Default::default() };
        client.call(6, &request).unwrap().responses.remove(0)
    };
    assert_eq!(delete(Some("other"), created.topic_id).error_code, ErrorCode::InvalidRequest);
    let deleted = delete(None, created.topic_id);
    assert_eq!((deleted.error_code, deleted.name.as_deref()), (ErrorCode::None, Some("other")));
    assert_eq!(delete(None, created.topic_id).error_code, ErrorCode::UnknownTopicId);
    broker.stop().unwrap();
}

#[test]
fn a_fetch_session_answers_with_what_has_changed() {
    let broker = LocalBroker::new(6, &[]);
    let mut client = broker.connect();
    let wanted = fetch::RequestPartition { partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = fetch::RequestTopic {
        topic: TOPIC.to_owned(),
        partitions: vec![wanted],
        ..Default::default()
    };
    let asked = |session_id, session_epoch, topics| FetchRequest {
        session_id,
        session_epoch,
        topics,
        ..Default::default()
    };
    let first = client.call(12, &asked(0, 0, vec![topic])).unwrap();
    let id = first.session_id;
    assert!(id != 0 && first.topics.len() == 1, "everything, and a session");
    assert_eq!(client.call(12, &asked(id, 1, vec![])).unwrap().topics, [], "nothing has changed");
    client.produce(batch([7]), -1).unwrap().unwrap();
    let news = client.call(12, &asked(id, 2, vec![])).unwrap();
    assert_eq!((news.session_id, news.topics[0].partitions[0].high_watermark), (id, 1));
    assert!(!news.topics[0].partitions[0].records.is_empty());
    for (id, epoch, code) in [
        (id, 9, ErrorCode::InvalidFetchSessionEpoch),
        (id ^ 1, 3, ErrorCode::FetchSessionIdNotFound),
    ] {
        let refused = client.call(12, &asked(id, epoch, vec![])).unwrap();
        assert_eq!((refused.error_code, refused.topics.len()), (code, 0));
    }
    broker.stop().unwrap();
}

#[test]
fn some_settings_of_a_broker_change_while_it_runs_and_others_say_that_they_do_not() {
    let broker = LocalBroker::new(11, &[]);
    let mut client = broker.connect();
    let ask = |client: &mut Connection, name: &str| {
        let topic = RequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        client.call(9, &request).unwrap().topics[0].error_code
    };
    let auto_create = "auto.create.topics.enable";
    assert_eq!(ask(&mut client, "first"), ErrorCode::None);
    let code = change(&mut client, (RESOURCE_BROKER, ""), (auto_create, Some("false")));
    assert_eq!(code, ErrorCode::None);
    assert_eq!(ask(&mut client, "second"), ErrorCode::UnknownTopicOrPartition);
    let shown = described(&mut client, (RESOURCE_BROKER, "1"), &[auto_create]);
    let shown = &shown.configs[0];
    assert_eq!((shown.value.as_deref(), shown.read_only), (Some("false"), false));
    assert_eq!(shown.config_source, SOURCE_DYNAMIC_DEFAULT_BROKER);
    // What is said of this broker counts more.
    let code = change(&mut client, (RESOURCE_BROKER, "1"), (auto_create, Some("true")));
    assert_eq!(code, ErrorCode::None);
    assert_eq!(ask(&mut client, "second"), ErrorCode::None);

    let one = ("max.connections", Some("1"));
    assert_eq!(change(&mut client, (RESOURCE_BROKER, "1"), one), ErrorCode::None);
    assert!(broker.connect().call(9, &MetadataRequest::default()).is_err(), "a second connection");
    let none = ("max.connections", None);
    assert_eq!(change(&mut client, (RESOURCE_BROKER, "1"), none), ErrorCode::None);
    assert!(broker.connect().call(9, &MetadataRequest::default()).is_ok());

    for refused in [
        ("num.partitions", "3"),
        ("listeners", "PLAINTEXT://127.0.0.1:1"),
        ("ssl.keystore.location", "/etc/key"),
        ("sasl.enabled.mechanisms", "GSSAPI"),
        ("no.such.setting", "1"),
        ("max.connections", "0"),
        ("log.cleaner.backoff.ms", "soon"),
    ] {
        let code = change(&mut client, (RESOURCE_BROKER, "1"), (refused.0, Some(refused.1)));
        assert_eq!(code, ErrorCode::InvalidRequest, "{refused:?}");
    }
    broker.stop().unwrap();
}

#[test]
fn what_kafka_changes_while_it_runs_is_taken_and_described_as_without_effect() {
    let mut broker = LocalBroker::new(12, &[]);
    let taken = [
        ("log.cleaner.backoff.ms", "7"),
        ("num.io.threads", "16"),
        ("num.network.threads", "3"),
        ("sasl.kerberos.min.time.before.relogin", "6"),
        ("sasl.kerberos.ticket.renew.jitter", "0.1"),
    ];
    for (place, source) in [("", SOURCE_DYNAMIC_DEFAULT_BROKER), ("1", SOURCE_DYNAMIC_BROKER)] {
        for (name, value) in taken {
            let mut client = broker.connect();
            let code = change(&mut client, (RESOURCE_BROKER, place), (name, Some(value)));
            assert_eq!(code, ErrorCode::None, "{name} of '{place}'");
            broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
            client = broker.connect();
            let shown = described(&mut client, (RESOURCE_BROKER, place), &[name]).configs.remove(0);
            assert_eq!((shown.value.as_deref(), shown.config_source), (Some(value), source));
            let words = shown.documentation.unwrap();
            assert!(words.starts_with("Without effect"), "{name}: {words}");
            let code = change(&mut client, (RESOURCE_BROKER, place), (name, None));
            assert_eq!(code, ErrorCode::None, "{name} of '{place}', taken back");
        }
    }
    broker.stop().unwrap();
}

#[test]
fn the_least_of_in_sync_replicas_is_a_default_of_the_whole_cluster() {
    let broker = LocalBroker::new(13, &[]);
    let mut client = broker.connect();
    let name = "min.insync.replicas";
    let shown = |client: &mut Connection, resource| {
        let config = described(client, resource, &[name]).configs.remove(0);
        (config.value.unwrap(), config.config_source)
    };
    let by_all = SOURCE_DYNAMIC_DEFAULT_BROKER;
    for resource in [(RESOURCE_BROKER, ""), (RESOURCE_BROKER, "1"), (RESOURCE_TOPIC, TOPIC)] {
        assert_eq!(shown(&mut client, resource), ("1".to_owned(), by_all), "{resource:?}");
    }
    let two = (name, Some("2"));
    assert_eq!(change(&mut client, (RESOURCE_BROKER, "1"), two), ErrorCode::InvalidRequest);
    assert_eq!(change(&mut client, (RESOURCE_BROKER, ""), two), ErrorCode::None);
    assert_eq!(shown(&mut client, (RESOURCE_BROKER, "")), ("2".to_owned(), by_all));
    broker.stop().unwrap();
}

#[test]
fn groups_and_subscriptions_to_metrics_are_described_without_settings() {
    let broker = LocalBroker::new(14, &[]);
    let mut client = broker.connect();
    for kind in [RESOURCE_GROUP, RESOURCE_CLIENT_METRICS] {
        let found = described(&mut client, (kind, "g"), &[]);
        assert_eq!((found.error_code, found.configs.len()), (ErrorCode::None, 0));
        let nameless = described(&mut client, (kind, ""), &[]);
        assert_eq!(nameless.error_code, ErrorCode::InvalidRequest);
    }
    broker.stop().unwrap();
}
