//! Disk errors: the broker's reaction, its log lines and its responses.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::wire::ErrorCode;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestTopic};
use streamlog::wire::fetch::FetchRequest;
use streamlog::wire::produce::ProduceRequest;
use tempfile::TempDir;

use crate::support::{BrokerProcess, Connection, Faults, batch, create_topic};

const SEGMENT: &str = "test-0/00000000000000000000.log";

#[test]
fn an_injected_fault_applies_only_to_the_files_it_names() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    assert_eq!(faults.struck(), [""; 0]);

    faults.set(&["write */other-0/*.log EIO", "write */test-0/*.log ENOSPC skip=1 times=1"]);
    assert_eq!(client.produce(batch([1]), -1).unwrap(), Ok(1));
    assert_eq!(client.produce(batch([2]), -1).unwrap(), Err(ErrorCode::KafkaStorageError));
    let path = dir.path().join("data/test-0/00000000000000000000.log");
    assert_eq!(faults.struck(), [format!("write {} ENOSPC", path.display())]);
    assert_eq!(client.produce(batch([3]), -1).unwrap(), Ok(2));
    assert!(broker.stop().success());
}

#[test]
fn a_failed_sync_ends_the_process_and_the_log_names_the_file() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    faults.set(&["sync */test-0/*.log EIO"]);
    assert!(!matches!(client.produce(batch([1]), -1), Ok(Ok(_))), "acknowledged");
    broker.await_log("test-0/00000000000000000000.log");
    assert!(!broker.end().success());
    assert_eq!(faults.struck().len(), 1, "a sync that failed was tried again");
}

/// The code and the message with which a batch for the test's topic is refused.
fn refusal(client: &mut Connection) -> (ErrorCode, String) {
    client.send_batch(batch([7]), -1).unwrap();
    let answer = client.receive::<ProduceRequest>(9).unwrap();
    let partition = &answer.topics[0].partitions[0];
    (partition.error_code, partition.error_message.clone().unwrap_or_default())
}

/// Counts the lines of the broker's log that contain all of these words.
fn lines(broker: &BrokerProcess, words: &[&str]) -> usize {
    let log = broker.log();
    log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// Appends a record to another partition.
fn other_partition_is_served(broker: &BrokerProcess) {
    let mut client = broker.connect();
    client.send_batch_to("other", batch([1]), -1).unwrap();
    assert!(client.receive_offset().unwrap().is_ok(), "{}", broker.log());
}

#[test]
fn a_segment_that_cannot_be_written_is_logged_once_and_answered_each_time() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    broker.make_topic("other");
    let mut client = broker.connect();
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    faults.set(&["write */test-0/*.log EIO"]);
    for _ in 0..3 {
        let (code, message) = refusal(&mut client);
        assert_eq!(code, ErrorCode::KafkaStorageError);
        assert!(message.contains(SEGMENT) && message.contains("os error 5"), "{message}");
    }
    let line = ["ERROR", "cannot write", SEGMENT, "os error 5", "check the disk"];
    assert_eq!(lines(&broker, &line), 1, "{}", broker.log());
    other_partition_is_served(&broker);
    faults.set(&[]);
    assert_eq!(client.produce(batch([1]), -1).unwrap(), Ok(1));
    assert!(broker.stop().success());
}

#[test]
fn a_log_that_cannot_be_opened_is_answered_with_the_reason() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    faults.set(&["write */partition.metadata* EIO"]);
    let mut client = broker.connect();
    for _ in 0..3 {
        let (code, message) = refusal(&mut client);
        assert_eq!(code, ErrorCode::KafkaStorageError);
        assert!(message.contains("partition.metadata") && message.contains("os error 5"));
    }
    faults.set(&[]);
    assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
    assert!(broker.stop().success());
}

#[test]
fn a_segment_that_cannot_be_read_is_logged_once_and_read_again_later() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let data = dir.path().join("data");
    let first = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    first.make_test_topic();
    first.make_topic("other");
    assert_eq!(first.connect().produce(batch([0]), -1).unwrap(), Ok(0));
    assert!(first.stop().success());

    // After a start nothing is verified: the segment is read before it is sent.
    let broker = BrokerProcess::start(&data, &[], |command| faults.rule(command)).unwrap();
    let mut client = broker.connect();
    for effect in ["EIO", "EINTR"] {
        faults.set(&[&format!("read */test-0/*.log {effect}")]);
        for _ in 0..3 {
            client.send_fetch(0, Duration::ZERO).unwrap();
            let answer = client.receive_records().unwrap();
            assert_eq!(answer.error_code, ErrorCode::KafkaStorageError, "{effect}");
        }
        let line = ["ERROR", "cannot read", SEGMENT, "os error 5", "check the disk"];
        assert_eq!(lines(&broker, &line), 1, "{}", broker.log());
        other_partition_is_served(&broker);
    }
    assert_eq!(lines(&broker, &["ERROR"]), 1, "{}", broker.log());
    faults.set(&[]);
    assert_eq!(client.read_from(0).unwrap(), [(0, 0)]);
    assert!(broker.stop().success());
}

#[test]
fn a_segment_that_cannot_be_sent_is_logged_and_its_next_reader_gets_an_answer() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    broker.make_topic("other");
    let mut client = broker.connect();
    // A small response would be copied instead.
    assert_eq!(client.produce(batch(0..10_000), -1).unwrap(), Ok(0));
    assert_eq!(client.read_from(0).unwrap().len(), 10_000);
    faults.set(&["send */test-0/*.log EIO"]);
    client.send_fetch(0, Duration::ZERO).unwrap();
    assert!(client.receive::<FetchRequest>(12).is_err(), "the length was out, the bytes were not");
    assert_eq!(lines(&broker, &["ERROR", "cannot send", SEGMENT, "os error 5"]), 1);
    faults.set(&["send */test-0/*.log EIO", "read */test-0/*.log EIO"]);
    let mut client = broker.connect();
    client.send_fetch(0, Duration::ZERO).unwrap();
    assert_eq!(client.receive_records().unwrap().error_code, ErrorCode::KafkaStorageError);
    other_partition_is_served(&broker);
    faults.set(&[]);
    assert_eq!(client.read_from(0).unwrap().len(), 10_000);
    assert!(broker.stop().success());
}

#[test]
fn errors_of_the_scrubber_and_of_retention_are_logged_by_file() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let settings = [
        "log.segment.bytes=1024",
        "log.retention.bytes=1024",
        "log.retention.check.interval.ms=100",
        "log.scrub.interval.ms=100",
    ];
    let broker = BrokerProcess::start(&dir.path().join("data"), &settings, rule).unwrap();
    broker.make_test_topic();
    broker.make_topic("expired");
    broker.make_topic("other");
    faults.set(&["read */test-0/*.log EIO", "rename */expired-0/*.deleted EIO"]);
    let mut client = broker.connect();
    for number in 0..10 {
        let numbers = || number * 20..number * 20 + 20;
        assert!(client.produce(batch(numbers()), -1).unwrap().is_ok());
        client.send_batch_to("expired", batch(numbers()), -1).unwrap();
        assert!(client.receive_offset().unwrap().is_ok());
    }
    broker.await_log("cannot read");
    broker.await_log("cannot rename");
    thread::sleep(Duration::from_secs(1));
    let log = broker.log();
    for line in log.lines().filter(|line| line.contains("os error 5")) {
        let file = line.split('\'').nth(1).unwrap();
        let same = log.lines().filter(|line| line.contains(&format!("'{file}'")));
        assert_eq!(same.count(), 1, "{log}");
    }
    other_partition_is_served(&broker);
    faults.set(&[]);
    assert!(broker.stop().success());
}

#[test]
fn a_metadata_journal_that_cannot_be_written_is_named_and_the_broker_continues() {
    for side in ["journal", "mirror"] {
        let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
        let data = dir.path().join("data");
        let rule = |command: &mut _| faults.rule(command);
        let broker = BrokerProcess::start(&data, &[], rule).unwrap();
        broker.make_test_topic();
        broker.make_topic("other");
        faults.set(&[&format!("write */metadata/*.{side} EIO")]);
        for _ in 0..3 {
            let (code, message) = create_topic(&mut broker.connect(), "refused", 1);
            assert_eq!(code, ErrorCode::KafkaStorageError);
            let is_named = message.contains("data/metadata/") && message.contains(side);
            assert!(is_named && message.contains("os error 5"), "{message}");
        }
        let line = ["ERROR", "cannot write", "data/metadata/", side, "os error 5"];
        assert_eq!(lines(&broker, &line), 1, "{}", broker.log());
        other_partition_is_served(&broker);
        faults.set(&[]);
        assert_eq!(create_topic(&mut broker.connect(), "taken", 1).0, ErrorCode::None);
        assert!(broker.stop().success());

        // The refused change is not there after a start either.
        let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
        assert_eq!(
            create_topic(&mut broker.connect(), "taken", 1).0,
            ErrorCode::TopicAlreadyExists
        );
        assert_eq!(create_topic(&mut broker.connect(), "refused", 1).0, ErrorCode::None);
        assert!(broker.stop().success());
    }
}

#[test]
fn a_metadata_journal_that_cannot_be_synced_ends_the_broker_by_its_name() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    faults.set(&["sync */metadata/*.mirror EIO"]);
    let name = "refused".to_owned();
    let topic =
        RequestTopic { name, num_partitions: 1, replication_factor: 1, ..Default::default() };
    let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    // The broker may end before it answers.
    broker.connect().send(5, &request).unwrap();
    broker.await_log("the broker stops: the metadata journal '");
    assert!(!broker.end().success());
    assert_eq!(faults.struck().len(), 1, "a sync that failed was tried again");
}

/// More partitions than the usual number of concurrent flushes.
const SLOW: usize = 6;

#[test]
fn partitions_that_are_slow_to_sync_do_not_delay_others() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let rule = |command: &mut _| faults.rule(command);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], rule).unwrap();
    broker.make_test_topic();
    let mut fast = broker.connect();
    assert_eq!(fast.produce(batch([0]), -1).unwrap(), Ok(0));
    let topics: Vec<_> = (0..SLOW).map(|number| format!("slow-{number}")).collect();
    for topic in &topics {
        broker.make_topic(topic);
        let mut client = broker.connect();
        client.send_batch_to(topic, batch([0]), -1).unwrap();
        assert_eq!(client.receive_offset().unwrap(), Ok(0));
    }

    faults.set(&["sync */slow-*/*.log 8000ms"]);
    let mut slow: Vec<_> = topics.iter().map(|_| broker.connect()).collect();
    for (client, topic) in slow.iter_mut().zip(&topics) {
        client.send_batch_to(topic, batch([1]), -1).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(6);
    while faults.struck().len() < SLOW {
        assert!(Instant::now() < deadline, "only {:?} are being synced", faults.struck());
        thread::sleep(Duration::from_millis(10));
    }
    for offset in 1..20 {
        assert_eq!(fast.produce(batch([offset]), -1).unwrap(), Ok(offset.cast_signed()));
    }
    for client in &mut slow {
        assert!(client.is_silent_for(Duration::from_millis(1)), "the syncs were not slow");
    }
    faults.set(&[]);
    for client in &mut slow {
        assert_eq!(client.receive_offset().unwrap(), Ok(1));
    }
    assert!(broker.stop().success());
}

#[test]
fn a_file_size_limit_refuses_records_and_does_not_end_the_broker() {
    let dir = TempDir::new().unwrap();
    // 8 MiB, or 16 if the shell counts blocks of 1,024 bytes.
    let limit = |command: &mut _| BrokerProcess::limit_file_size(command, 16 << 10);
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], limit).unwrap();
    broker.make_test_topic();
    broker.make_topic("other");
    let mut client = broker.connect();
    let refused = (0..40).find_map(|_| client.produce(batch(0..40_000), -1).unwrap().err());
    assert_eq!(refused, Some(ErrorCode::KafkaStorageError), "{}", broker.log());
    other_partition_is_served(&broker);
    assert!(broker.stop().success());
}

#[test]
fn a_partition_that_cannot_be_recovered_is_refused_and_others_are_served() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    broker.make_test_topic();
    broker.make_topic("other");
    assert_eq!(broker.connect().produce(batch([0]), -1).unwrap(), Ok(0));
    drop(broker);
    let damaged = data.join("test-0/damaged");
    fs::write(&damaged, "0\n0\ncrc 00000000\n").unwrap();

    let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    let mut client = broker.connect();
    let (code, message) = refusal(&mut client);
    assert_eq!(code, ErrorCode::KafkaStorageError);
    assert!(
        message.contains("its log is closed") && message.contains("the damages of"),
        "{message}"
    );
    client.send_fetch(0, Duration::ZERO).unwrap();
    assert_eq!(client.receive_records().unwrap().error_code, ErrorCode::KafkaStorageError);
    other_partition_is_served(&broker);
    assert_eq!(
        lines(&broker, &["ERROR", "test-0: its log is closed", "start the broker again"]),
        1
    );
    fs::remove_file(&damaged).unwrap();
    assert!(broker.stop().success());

    let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    assert_eq!(broker.connect().read_from(0).unwrap(), [(0, 0)]);
    assert!(broker.stop().success());
}
