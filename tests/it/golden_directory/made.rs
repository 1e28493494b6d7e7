//! The settings and records of the committed directory.

use std::path::Path;
use std::sync::Arc;

use streamlog::config::ByteSize;
use streamlog::io::{Clock, Disk, ManualClock, Share, World};
use streamlog::record::{BatchBuilder, BatchSettings, Compressor, Header, ProducerStamp};
use streamlog::storage::{
    DataDir, DataDirOptions, LogConfig, OffsetUnit, Opener, PartitionMetadata, ProducerLimits,
};
use streamlog::types::{
    BrokerId, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicId, TopicPartition,
};

/// Its path on the disks of these tests.
pub(super) const ROOT: &str = "/data";
pub(super) const CLUSTER_ID: &str = "golden-cluster";
pub(super) const TOPIC_ID: TopicId = TopicId([7; 16]);
/// The time of the first record; each batch is a second later.
pub(super) const BEGIN: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// Records of each batch, and batches of each of the two leader epochs.
pub(super) const RECORDS: usize = 3;
pub(super) const BATCHES: usize = 4;

pub(super) fn identity() -> String {
    format!(
        "streamlog.format=1\ncluster.id={CLUSTER_ID}\nbroker.id=1\n\
         directory.id=00000000-0000-4000-8000-000000000001\n"
    )
}

pub(super) fn partition() -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) }
}

pub(super) fn metadata() -> PartitionMetadata {
    PartitionMetadata { topic_id: TOPIC_ID, offset_unit: OffsetUnit::Record }
}

pub(super) fn open(disk: &Arc<dyn Disk>, clock: &Arc<ManualClock>) -> DataDir {
    // Small values, so that there are two segments, with entries in their indexes.
    let config = LogConfig {
        segment_size: ByteSize(900),
        index_interval: ByteSize(256),
        ..LogConfig::default()
    };
    let config = Arc::new(config);
    let options = DataDirOptions {
        opener: Opener { cluster_id: Some(CLUSTER_ID.to_owned()), broker_id: BrokerId(1) },
        boot_id: "golden-boot".to_owned(),
        configs: Arc::new(move |_, _| Arc::clone(&config)),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: std::time::Duration::ZERO,
        open_files: Share::OfProcess,
    };
    let world = World { disk: Arc::clone(disk), clock: Arc::clone(clock) as Arc<dyn Clock> };
    DataDir::open(world, Path::new(ROOT), options).unwrap()
}

/// The timestamp of a batch.
pub(super) fn time(number: usize) -> Timestamp {
    Timestamp::from_millis(BEGIN.millis() + i64::try_from(number).unwrap() * 1000)
}

/// The value of a record.
pub(super) fn value(batch: usize, record: usize) -> String {
    format!("{batch}.{record} {}", "golden ".repeat(4))
}

/// A batch as its producer sends it: the first record of each has a key and headers, the second is
/// a tombstone.
pub(super) fn batch(number: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    let headers = [Header { key: b"a", value: Some(b"1") }, Header { key: b"a", value: None }];
    for record in 0..RECORDS {
        let value = value(number, record);
        let value = Some(value.as_bytes()).filter(|_| record != 1);
        let key = Some(&b"key"[..]).filter(|_| record < 2);
        let headers = if record == 0 { &headers[..] } else { &[] };
        builder.push(time(number), key, value, headers).unwrap();
    }
    let base_sequence = i32::try_from(number * RECORDS).unwrap();
    let producer =
        Some(ProducerStamp { id: ProducerId(4711), epoch: ProducerEpoch(3), base_sequence });
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    builder.build(&settings, &mut Compressor::none()).unwrap()
}
