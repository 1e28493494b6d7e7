//! Writing the committed directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use streamlog::io::{Clock, Disk, ManualClock, MemoryDisk};
use streamlog::metadata::{EmbeddedStore, Metadata, MetadataConfig, Op, Store};
use streamlog::storage::AppendAt;
use streamlog::types::{BrokerId, LeaderEpoch, Offset};

use super::files::{Files, commit, files_of, fixture, put};
use super::made::{
    BATCHES, BEGIN, CLUSTER_ID, RECORDS, ROOT, TOPIC_ID, batch, identity, metadata, open, partition,
};

/// After an intended change of the format, with a new version number, `STREAMLOG_COMMIT_GOLDEN=1`
/// makes the files written now the committed directory.
#[test]
fn this_release_writes_the_committed_directory() {
    let written = written();
    if std::env::var_os("STREAMLOG_COMMIT_GOLDEN").is_some() {
        commit(&written);
    }
    let committed = fixture();
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&written), names(&committed));
    for (name, bytes) in &written {
        assert_eq!(bytes, &committed[name], "{name}");
    }
    let is_there = |suffix: &str| names(&written).iter().filter(|n| n.ends_with(suffix)).count();
    assert_eq!((is_there(".log"), is_there(".index"), is_there(".timeindex")), (2, 2, 2));
    // The active segment has a seal with its digests, since its log was closed cleanly.
    assert_eq!((is_there(".seal"), is_there(".snapshot")), (2, 1));
    assert_eq!((is_there(".journal"), is_there(".mirror")), (1, 1));
}

fn written() -> Files {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    put(&*disk, &Path::new(ROOT).join("meta.properties"), identity().as_bytes());
    write_log(&disk);
    write_journal(&disk);
    files_of(&*disk, Path::new(ROOT))
}

fn write_log(disk: &Arc<dyn Disk>) {
    let clock = Arc::new(ManualClock::at(BEGIN));
    let data = open(disk, &clock);
    let log = data.create_log(&partition(), metadata()).unwrap();
    for number in 0..2 * BATCHES {
        let epoch = LeaderEpoch(i32::try_from(number / BATCHES).unwrap());
        log.start_epoch(epoch).unwrap();
        let mut bytes = batch(number);
        let now = clock.now();
        log.append(&mut [bytes.as_mut_slice()], AppendAt { epoch, now }).unwrap()[0].unwrap();
        clock.advance(Duration::from_secs(1));
    }
    let end = Offset::new(i64::try_from(2 * BATCHES * RECORDS).unwrap());
    assert_eq!(log.log_end_offset(), end);
    data.advance_log_start(&log, Offset::new(1)).unwrap();
    data.close(&[((partition(), TOPIC_ID), end)].into()).unwrap();
}

/// The topic as a controller leaves it, without the nodes that live as long as a broker does.
fn write_journal(disk: &Arc<dyn Disk>) {
    let dir = Path::new(ROOT).join("metadata");
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(Arc::clone(disk), &dir).unwrap());
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(BEGIN));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (cluster, config) = (Some(CLUSTER_ID), MetadataConfig::default());
        let store = Arc::clone(&store);
        Metadata::open(Arc::clone(&store), clock, BrokerId(1), cluster, config).await.unwrap();
        let replicas = r#""adding_replicas":{},"removing_replicas":{}"#;
        let partitions = r#""partitions":{"0":[1]}"#;
        let topic = format!(r#"{{"version":3,"topic_id":"{TOPIC_ID}",{partitions},{replicas}}}"#);
        let state = r#"{"version":1,"leader":1,"leader_epoch":1,"controller_epoch":1,"isr":[1]}"#;
        let place = "/brokers/topics/t";
        let ops = vec![
            Op::create(place, topic),
            Op::create(format!("{place}/partitions"), ""),
            Op::create(format!("{place}/partitions/0"), ""),
            Op::create(format!("{place}/partitions/0/state"), state),
        ];
        store.multi(ops).await.unwrap();
    });
}
