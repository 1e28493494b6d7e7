//! A broker with fewer descriptors than files of segments.
//!
//! `STREAMLOG_PARTITIONS=n` sets the number of partitions in the test with a kill.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use streamlog::wire::ErrorCode;
use streamlog::wire::Records;
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use tempfile::TempDir;

use crate::support::{BrokerProcess, Connection, FETCH, PRODUCE, TOPIC, batch, values};

/// Partitions in one request.
const AT_ONCE: usize = 100;

/// The number of clients that connect while all partitions are in use.
const CLIENTS: i64 = 100;

/// A topic of a number of partitions, on a broker with a limit of descriptors.
struct World {
    dir: TempDir,
    partitions: i32,
    descriptors: u32,
}

impl World {
    fn new(partitions: i32, descriptors: u32) -> Self {
        Self { dir: TempDir::new().unwrap(), partitions, descriptors }
    }

    fn start(&self) -> BrokerProcess {
        let count = format!("num.partitions={}", self.partitions);
        let limit = |command: &mut Command| {
            BrokerProcess::limit_descriptors(command, self.descriptors);
        };
        BrokerProcess::start(&self.dir.path().join("data"), &[&count], limit).unwrap()
    }

    /// Appends a batch with `value` to every partition, at `offset`.
    fn produce_to_all(&self, client: &mut Connection, value: u64, offset: i64) {
        let indexes: Vec<i32> = (0..self.partitions).collect();
        for indexes in indexes.chunks(AT_ONCE) {
            let partition = |index: &i32| {
                let records = Records::Bytes(batch([value]).into());
                produce::RequestPartition { index: *index, records }
            };
            let partitions = indexes.iter().map(partition).collect();
            let topic =
                produce::RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() };
            let topics = vec![topic];
            let request =
                ProduceRequest { acks: -1, timeout_ms: 30_000, topics, ..Default::default() };
            let response = client.call(PRODUCE, &request).unwrap();
            for partition in &response.topics[0].partitions {
                let answer = (partition.error_code, partition.base_offset);
                assert_eq!(answer, (ErrorCode::None, offset), "partition {}", partition.index);
            }
        }
    }

    /// Reads every partition, and checks that each has just these values, from offset 0.
    fn assert_all_have(&self, client: &mut Connection, expected: &[u64]) {
        let expected: Vec<_> = (0..).zip(expected.iter().copied()).collect();
        let wanted = |partition| fetch::RequestPartition {
            partition,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        };
        let topic = fetch::RequestTopic {
            topic: TOPIC.to_owned(),
            partitions: (0..self.partitions).map(wanted).collect(),
            ..Default::default()
        };
        let request = FetchRequest { min_bytes: 1, topics: vec![topic], ..Default::default() };
        let response = client.call(FETCH, &request).unwrap();
        let answers = &response.topics[0].partitions;
        assert_eq!(answers.len(), usize::try_from(self.partitions).unwrap());
        for answer in answers {
            let partition = answer.partition_index;
            assert_eq!(answer.error_code, ErrorCode::None, "partition {partition}");
            assert_eq!(values(&answer.records), expected, "partition {partition}");
        }
    }
}

/// The files of segments that the broker has open.
fn open_segment_files(broker: &BrokerProcess) -> Vec<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", broker.id())).unwrap();
    // A descriptor may be closed after it was listed.
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let is_of_segment = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let partition = path.parent().and_then(Path::file_name).unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_digit())
            && partition.to_string_lossy().starts_with(TOPIC)
    };
    targets.filter(is_of_segment).collect()
}

#[test]
fn clients_get_in_while_there_are_nearly_as_many_partitions_as_descriptors() {
    let world = World::new(880, 1024);
    let broker = world.start();
    broker.make_test_topic();
    let mut client = broker.connect();
    world.produce_to_all(&mut client, 7, 0);
    let mut others: Vec<_> = (0..CLIENTS).map(|_| broker.connect()).collect();
    for (number, other) in (1..).zip(&mut others) {
        assert_eq!(other.produce(batch([9]), -1).unwrap(), Ok(number), "client {number}");
    }
    let open = open_segment_files(&broker).len();
    assert!(open <= 512, "{open} files are open, more than half of the limit");
    assert!(broker.stop().success());
}

#[test]
fn partitions_beyond_the_descriptors_are_served_and_recovered_after_a_kill() {
    let partitions = env::var("STREAMLOG_PARTITIONS").map_or(400, |n| n.parse().unwrap());
    let world = World::new(partitions, 256);
    let broker = world.start();
    broker.make_test_topic();
    let mut client = broker.connect();
    world.produce_to_all(&mut client, 7, 0);
    world.produce_to_all(&mut client, 8, 1);
    world.assert_all_have(&mut client, &[7, 8]);
    // Kill it, without a chance to close anything.
    drop(broker);

    let broker = world.start();
    let mut client = broker.connect();
    world.assert_all_have(&mut client, &[7, 8]);
    world.produce_to_all(&mut client, 9, 2);
    world.assert_all_have(&mut client, &[7, 8, 9]);
    assert!(broker.stop().success());
}
