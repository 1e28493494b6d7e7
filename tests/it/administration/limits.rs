//! A broker keeps as many partitions as it has memory for, however they are asked for.

use std::process::Command;

use streamlog::embedded::{EngineConfig, Logs};
use streamlog::wire::ErrorCode;
use streamlog::wire::create_partitions::{self, CreatePartitionsRequest};
use streamlog::wire::create_topics::{self, CreateTopicsRequest};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use crate::support::{Connection, LocalBroker, TOPIC, batch};

/// A broker that may have 10 partitions, of which the test's topic is one.
fn bounded() -> LocalBroker {
    LocalBroker::new(1, &[("max.partitions", "10")])
}

fn create(
    client: &mut Connection,
    topics: &[(&str, i32)],
    validate_only: bool,
) -> Vec<(ErrorCode, Option<String>)> {
    let topic = |(name, num_partitions): &(&str, i32)| create_topics::RequestTopic {
        name: (*name).to_owned(),
        num_partitions: *num_partitions,
        replication_factor: -1,
        ..Default::default()
    };
    let topics = topics.iter().map(topic).collect();
    let request = CreateTopicsRequest { topics, validate_only, ..Default::default() };
    let answered = client.call(7, &request).unwrap().topics;
    answered.into_iter().map(|topic| (topic.error_code, topic.error_message)).collect()
}

fn extend(client: &mut Connection, total: i32, validate_only: bool) -> (ErrorCode, Option<String>) {
    let topic = create_partitions::RequestTopic {
        name: TOPIC.to_owned(),
        count: total,
        ..Default::default()
    };
    let request =
        CreatePartitionsRequest { topics: vec![topic], validate_only, ..Default::default() };
    let answered = client.call(3, &request).unwrap().results.remove(0);
    (answered.error_code, answered.error_message)
}

fn ask_for(client: &mut Connection, name: &str) -> ErrorCode {
    let topic = RequestTopic { name: Some(name.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    client.call(9, &request).unwrap().topics[0].error_code
}

#[track_caller]
fn assert_refused((code, message): &(ErrorCode, Option<String>), numbers: [&str; 3]) {
    assert_eq!(*code, ErrorCode::InvalidPartitions);
    let message = message.as_deref().unwrap();
    let words: Vec<&str> = message.split_whitespace().collect();
    for number in numbers {
        assert!(words.contains(&number), "{number} is missing: {message}");
    }
    assert!(message.contains("max.partitions"), "{message}");
}

#[test]
fn topics_beyond_the_limit_are_refused_with_what_is_there_what_was_asked_and_the_limit() {
    let broker = bounded();
    let mut client = broker.connect();
    assert_refused(&create(&mut client, &[("a", 12)], false)[0], ["1", "12", "10"]);
    let both = create(&mut client, &[("a", 6), ("b", 4)], false);
    assert_eq!(both[0].0, ErrorCode::None);
    assert_refused(&both[1], ["7", "4", "10"]);
    assert_eq!(create(&mut client, &[("b", 3)], false)[0].0, ErrorCode::None);
    assert_refused(&create(&mut client, &[("c", 1)], false)[0], ["10", "1", "10"]);
    broker.stop().unwrap();
}

#[test]
fn a_topic_grows_up_to_the_limit() {
    let broker = bounded();
    let mut client = broker.connect();
    for validate_only in [true, false] {
        assert_refused(&extend(&mut client, 11, validate_only), ["1", "10", "10"]);
        assert_eq!(extend(&mut client, 10, validate_only).0, ErrorCode::None);
    }
    broker.stop().unwrap();
}

#[test]
fn a_request_that_only_asks_counts_all_that_it_asks_about() {
    let broker = bounded();
    let mut client = broker.connect();
    let topics = [("a", 6), ("b", 4), ("c", 3)];
    for validate_only in [true, false] {
        let codes: Vec<_> = create(&mut client, &topics, validate_only).into_iter().collect();
        assert_eq!((codes[0].0, codes[2].0), (ErrorCode::None, ErrorCode::None));
        assert_eq!(codes[1].0, ErrorCode::InvalidPartitions);
    }
    broker.stop().unwrap();
}

#[test]
fn asking_for_a_topic_makes_none_beyond_the_limit() {
    let broker = LocalBroker::new(1, &[("max.partitions", "3"), ("num.partitions", "2")]);
    let mut client = broker.connect();
    assert_eq!(ask_for(&mut client, "another"), ErrorCode::InvalidPartitions);
    assert_eq!(ask_for(&mut client, TOPIC), ErrorCode::None);
    assert_eq!(extend(&mut client, 3, false).0, ErrorCode::None);
    broker.stop().unwrap();
}

#[test]
fn what_exists_is_served_below_a_lowered_limit_and_groups_need_no_room() {
    let broker = bounded();
    let mut client = broker.connect();
    assert_eq!(extend(&mut client, 9, false).0, ErrorCode::None);
    let disk = broker.stop().unwrap();
    let settings = [("max.partitions", "2"), ("offsets.topic.num.partitions", "2")];
    let broker = LocalBroker::on(disk, &settings).unwrap();
    let mut client = broker.connect();
    assert!(client.produce(batch([1]), 1).unwrap().is_ok());
    assert_refused(&create(&mut client, &[("a", 1)], false)[0], ["9", "1", "2"]);
    let find = FindCoordinatorRequest { key: "g".to_owned(), ..Default::default() };
    assert_eq!(client.call(3, &find).unwrap().error_code, ErrorCode::None);
    broker.stop().unwrap();
}

#[test]
fn clients_that_create_topics_at_once_do_not_pass_the_limit_together() {
    let broker = bounded();
    let made = std::thread::scope(|scope| {
        let creating: Vec<_> = (0..8)
            .map(|number| {
                let mut client = broker.connect();
                let name = format!("t{number}");
                scope.spawn(move || create(&mut client, &[(&name, 2)], false)[0].0)
            })
            .collect();
        let codes = creating.into_iter().map(|creating| creating.join().unwrap());
        codes.filter(|code| *code == ErrorCode::None).count()
    });
    assert_eq!(made, 4);
    broker.stop().unwrap();
}

#[test]
fn the_embedded_engine_has_the_same_limit() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::at(dir.path().join("data"));
    config.set([("max.partitions", "3")]).unwrap();
    let logs = Logs::open_with(config).unwrap();
    logs.create_topic("a", 2, &[]).unwrap();
    let error = logs.create_topic("b", 2, &[]).unwrap_err();
    assert!(streamlog::types::WithCauses(&error).to_string().contains("max.partitions"));
    logs.create_topic("b", 1, &[]).unwrap();
    logs.close().unwrap();
}

#[test]
fn the_command_that_creates_a_topic_says_why_it_cannot() {
    let broker = bounded();
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["topic", "create", "a", "-p", "11", "-b", &broker.address().to_string()]);
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    let ended = command.output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_ne!(ended.status.code(), Some(0));
    for part in ["11 partitions", "has 1 ", "may have 10", "max.partitions"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    broker.stop().unwrap();
}
