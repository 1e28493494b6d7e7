//! A broker on a volume, with all the records that it has acknowledged.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use streamlog::broker::{Broker, BrokerConfig, EngineConfig, Listener};
use streamlog::wire::create_topics::{self, CreateTopicsRequest};
use streamlog::wire::delete_records::{self, DeleteRecordsRequest};
use streamlog::wire::delete_topics::{self, DeleteTopicsRequest};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::incremental_alter_configs::{self as alter, IncrementalAlterConfigsRequest};
use streamlog::wire::list_offsets::{self, ListOffsetsRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Records};

use super::volume::{FileSystem, Volume};
use crate::support::{Connection, TOPIC, batch, commit, sequenced, stored};

/// Segments of a few batches, an index entry for nearly every batch, and no waiting.
const SETTINGS: &[(&str, &str)] = &[
    ("log.segment.bytes", "49152"),
    ("log.index.interval.bytes", "64"),
    ("log.cleaner.backoff.ms", "50"),
    ("log.segment.delete.delay.ms", "60000"),
    ("log.retention.check.interval.ms", "300000"),
    ("offsets.topic.num.partitions", "4"),
    ("offsets.topic.segment.bytes", "16384"),
];

/// Records of a batch, and the group of every test.
const BATCH: u64 = 100;
const GROUP: &str = "readers";

/// Longer than the broker may take to accept records again.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Station {
    pub(super) volume: Volume,
    broker: Option<Broker>,
    /// By offset, the number acknowledged there.
    acknowledged: BTreeMap<i64, u64>,
    committed: Option<i64>,
    next_number: u64,
    next_sequence: i32,
}

impl Station {
    /// A broker on a new volume, with the test's topic.
    pub(super) fn new(kind: FileSystem) -> Self {
        Self::on(Volume::mount(kind))
    }

    /// A broker on this volume, with the test's topic.
    pub(super) fn on(volume: Volume) -> Self {
        let mut station = Self {
            volume,
            broker: None,
            acknowledged: BTreeMap::new(),
            committed: None,
            next_number: 0,
            next_sequence: 0,
        };
        station.start();
        station.create_topic(TOPIC, &[]);
        station
    }

    /// Starts the broker.
    pub(super) fn start(&mut self) {
        self.start_with(&[]);
    }

    /// Starts the broker with more settings.
    pub(super) fn start_with(&mut self, settings: &[(&str, &str)]) {
        let mut config = BrokerConfig {
            listeners: Listener::alone("127.0.0.1", 0),
            engine: EngineConfig::at(self.volume.data()),
            shards: 1,
            ..BrokerConfig::default()
        };
        config.set(SETTINGS.iter().chain(settings).copied()).unwrap();
        self.broker = Some(Broker::start(config).unwrap());
    }

    /// Shuts the broker down cleanly.
    pub(super) fn stop(&mut self) {
        self.broker.take().unwrap().stop().unwrap();
    }

    /// Removes the manifest of the clean shutdown.
    pub(super) fn forget_clean_stop(&self) {
        let manifest = self.volume.data().join("clean-stop");
        match fs::remove_file(manifest) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }

    /// Removes the reserve, while no broker runs.
    pub(super) fn forget_reserve(&self) {
        fs::remove_dir_all(self.volume.data().join("reserve")).unwrap();
    }

    /// The broker's address.
    pub(super) fn address(&self) -> SocketAddr {
        self.broker.as_ref().unwrap().address()
    }

    /// The bytes of the topic's segments.
    pub(super) fn log_bytes(&self) -> u64 {
        let dir = self.volume.data().join(format!("{TOPIC}-0"));
        let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let segments = files.filter(|path| path.extension() == Some("log".as_ref()));
        segments.map(|path| fs::metadata(path).unwrap().len()).sum()
    }

    pub(super) fn connect(&self) -> Connection {
        Connection::open(self.address()).unwrap()
    }

    /// Sends a batch and records it if it is acknowledged; otherwise returns the reason.
    fn produce(&mut self, client: &mut Connection) -> Result<(), String> {
        let numbers = self.next_number..self.next_number + BATCH;
        self.take(client, batch(numbers))
    }

    /// Sends `count` batches by an idempotent producer.
    pub(super) fn produce_in_sequence(&mut self, batches: usize) {
        let mut client = self.connect();
        for _ in 0..batches {
            let numbers = self.next_number..self.next_number + BATCH;
            let batch = sequenced(numbers, (4711, 0), self.next_sequence);
            self.take(&mut client, batch).unwrap();
            self.next_sequence += i32::try_from(BATCH).unwrap();
        }
    }

    fn take(&mut self, client: &mut Connection, batch: Vec<u8>) -> Result<(), String> {
        let records = Records::Bytes(batch.into());
        let partitions = vec![produce::RequestPartition { index: 0, records }];
        let topics = vec![produce::RequestTopic {
            name: TOPIC.to_owned(),
            partitions,
            ..Default::default()
        }];
        let request = ProduceRequest { acks: -1, timeout_ms: 30_000, topics, ..Default::default() };
        let answer = client.call(9, &request).unwrap();
        let partition = &answer.topics[0].partitions[0];
        if partition.error_code != ErrorCode::None {
            assert_eq!(partition.error_code, ErrorCode::KafkaStorageError);
            return Err(partition.error_message.clone().unwrap_or_default());
        }
        self.acknowledged.extend((partition.base_offset..).zip(self.next_number..).take(100));
        self.next_number += BATCH;
        Ok(())
    }

    /// Sends `count` batches to a broker with free space.
    pub(super) fn produce_some(&mut self, batches: usize) {
        let mut client = self.connect();
        for _ in 0..batches {
            self.produce(&mut client).unwrap();
        }
    }

    /// Sends batches until one is refused, for a reason that names the cause.
    pub(super) fn produce_until_refused(&mut self) {
        let mut client = self.connect();
        for _ in 0..10_000 {
            if let Err(reason) = self.produce(&mut client) {
                assert!(reason.contains("no space left"), "{reason}");
                return;
            }
        }
        panic!("a full disk takes everything");
    }

    /// Checks that exactly the acknowledged records can be read, and the committed offset.
    pub(super) fn check(&mut self) {
        let mut client = self.connect();
        let start = log_start(&mut client);
        self.acknowledged = self.acknowledged.split_off(&start);
        let read: BTreeMap<i64, u64> = client.read_from(start).unwrap().into_iter().collect();
        let lost = self.acknowledged.iter().find(|(offset, n)| read.get(offset) != Some(n));
        assert_eq!(lost, None, "an acknowledged record is not there");
        if let Some(committed) = self.committed {
            assert_eq!(stored(&mut client, GROUP).unwrap(), committed, "a committed offset");
        }
    }

    /// Waits until the broker accepts records again, without a restart.
    pub(super) fn wait_until_it_takes_records(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let mut client = self.connect();
        while let Err(reason) = self.produce(&mut client) {
            assert!(Instant::now() < deadline, "it does not take records again: {reason}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stores offsets for the group, one after another.
    pub(super) fn commit(&mut self, times: usize) {
        let mut client = self.connect();
        for _ in 0..times {
            self.commit_next(&mut client);
        }
    }

    fn commit_next(&mut self, client: &mut Connection) {
        let committed = self.committed.map_or(0, |before| before + 1);
        let find = FindCoordinatorRequest { key: GROUP.to_owned(), ..Default::default() };
        assert_eq!(client.call(3, &find).unwrap().error_code, ErrorCode::None);
        commit(client, GROUP, committed);
        self.committed = Some(committed);
    }

    /// Deletes all records of the topic.
    pub(super) fn delete_records(&mut self) {
        let partition = delete_records::RequestPartition { offset: -1, ..Default::default() };
        let topic =
            delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
        let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 10_000 };
        let answer = self.connect().call(2, &request).unwrap();
        assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::None);
    }

    pub(super) fn create_topic(&self, name: &str, configs: &[(&str, &str)]) {
        let config = |(key, value): &(&str, &str)| create_topics::RequestConfig {
            name: (*key).to_owned(),
            value: Some((*value).to_owned()),
        };
        let topic = create_topics::RequestTopic {
            name: name.to_owned(),
            num_partitions: 1,
            replication_factor: 1,
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        let request =
            CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
        let answer = self.connect().call(5, &request).unwrap();
        assert_eq!(answer.topics[0].error_code, ErrorCode::None, "{answer:?}");
    }

    pub(super) fn delete_topic(&self, name: &str) {
        let topic =
            delete_topics::RequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let request =
            DeleteTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
        let answer = self.connect().call(6, &request).unwrap();
        assert_eq!(answer.responses[0].error_code, ErrorCode::None, "{answer:?}");
    }

    /// Changes a setting of the topic; `None` resets it.
    pub(super) fn set(&self, setting: &str, value: Option<&str>) {
        let config = alter::RequestConfig {
            name: setting.to_owned(),
            config_operation: if value.is_some() { alter::SET } else { alter::DELETE },
            value: value.map(str::to_owned),
        };
        let resource = alter::RequestResource {
            resource_type: 2,
            resource_name: TOPIC.to_owned(),
            configs: vec![config],
        };
        let request =
            IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        let answer = self.connect().call(1, &request).unwrap();
        assert_eq!(answer.responses[0].error_code, ErrorCode::None, "{answer:?}");
    }
}

/// The log start offset.
fn log_start(client: &mut Connection) -> i64 {
    let partition = list_offsets::RequestPartition { timestamp: -2, ..Default::default() };
    let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
    let answer = client.call(5, &request).unwrap();
    assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::None);
    answer.topics[0].partitions[0].offset
}
