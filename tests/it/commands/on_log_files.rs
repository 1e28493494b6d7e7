//! `streamlog log` as a process, on the files of a closed data directory.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use streamlog::broker::rebuild_metadata;
use streamlog::io::{Share, SystemClock, SystemDisk, World};
use streamlog::storage::{
    AppendAt, DataDir, DataDirOptions, HighWatermarks, LogConfig, OffsetUnit, Opener,
    PartitionMetadata, ProducerLimits,
};
use streamlog::types::{BrokerId, LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition};

use crate::support::batch;

const BATCHES: u64 = 4;
const RECORDS: u64 = 3;

/// A data directory with one log of a few batches of three records each.
struct Written {
    dir: tempfile::TempDir,
}

impl Written {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = DataDirOptions {
            opener: Opener { cluster_id: None, broker_id: BrokerId(1) },
            boot_id: "boot-1".to_owned(),
            configs: Arc::new(|_, _| Arc::new(LogConfig::default())),
            producers: ProducerLimits::default(),
            recovery_threads: 1,
            keep_deleted: Duration::ZERO,
            open_files: Share::OfProcess,
        };
        let disk = Arc::new(SystemDisk::default());
        let world = World { disk, clock: Arc::new(SystemClock) };
        let data = DataDir::open(world, &dir.path().join("data"), options).unwrap();
        let partition =
            TopicPartition { topic: "web".parse().unwrap(), partition: PartitionIndex(0) };
        let metadata =
            PartitionMetadata { topic_id: TopicId([7; 16]), offset_unit: OffsetUnit::Record };
        let log = data.create_log(&partition, metadata).unwrap();
        let at = AppendAt { epoch: LeaderEpoch(1), now: Timestamp::from_millis(1_700_000_000_000) };
        log.start_epoch(at.epoch).unwrap();
        for number in 0..BATCHES {
            let first = number * RECORDS;
            let mut batch = batch(first..first + RECORDS);
            log.append(&mut [&mut batch], at).unwrap();
        }
        drop(log);
        data.close(&HighWatermarks::new()).unwrap();
        drop(data);
        let rebuilt = rebuild_metadata(&dir.path().join("data"), &BTreeMap::new(), &mut || {
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(rebuilt.unwrap().topics.len(), 1);
        Self { dir }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn segment(&self) -> PathBuf {
        self.data().join("web-0/00000000000000000000.log")
    }

    fn flip(&self, position: usize) {
        let mut bytes = fs::read(self.segment()).unwrap();
        bytes[position] ^= 1;
        fs::write(self.segment(), bytes).unwrap();
    }
}

fn log_command(verb: &str, path: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["log", verb]).arg(path).args(options).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_dump_shows_every_batch_and_optionally_its_records() {
    let written = Written::new();
    let dump = log_command("dump", &written.segment(), &[]);
    assert_eq!(dump.status.code(), Some(0), "{}", text(&dump.stderr));
    let lines: Vec<_> = text(&dump.stdout).lines().collect();
    assert_eq!(lines.len() as u64, BATCHES);
    for (number, line) in (0..).zip(&lines) {
        assert!(line.contains(&format!(" base_offset {} ", number * RECORDS)), "{line}");
        assert!(line.contains(&format!(" record_count {RECORDS} ")), "{line}");
    }
    let dump = log_command("dump", &written.segment(), &["--records", "-o", "json"]);
    for (number, row) in (0..).zip(rows(&dump)) {
        assert_eq!(row["base_offset"], number * RECORDS);
        let records = row["records"].as_array().unwrap();
        let offsets: Vec<_> =
            records.iter().filter_map(|record| record["offset"].as_u64()).collect();
        assert_eq!(offsets, [0, 1, 2].map(|index| number * RECORDS + index));
    }
}

#[test]
fn a_sound_directory_is_counted_and_ends_with_exit_code_0() {
    let written = Written::new();
    let size = fs::metadata(written.segment()).unwrap().len();
    for dir in [written.data(), written.data().join("web-0")] {
        let verify = log_command("verify", &dir, &["--output", "json"]);
        assert_eq!(verify.status.code(), Some(0), "{}", text(&verify.stderr));
        let [row] = &rows(&verify)[..] else { panic!("one log is expected") };
        assert_eq!(row["is_sound"], true, "{row}");
        assert_eq!(row["records"], BATCHES * RECORDS);
        assert_eq!((&row["batches"], &row["bytes"]), (&BATCHES.into(), &size.into()));
    }
    let verify = log_command("verify", &written.data(), &[]);
    let total = format!("sound: 1 logs, 12 records, 4 batches, {size} bytes\n");
    assert!(text(&verify.stdout).ends_with(&total), "{}", text(&verify.stdout));
}

#[test]
fn a_flipped_byte_is_reported_with_its_position_and_exit_code_1() {
    let written = Written::new();
    let second = rows(&log_command("dump", &written.segment(), &["-o", "json"]))[0]["size"].clone();
    let position = second.as_u64().unwrap();
    written.flip(usize::try_from(position).unwrap() + 70);

    let verify = log_command("verify", &written.data(), &["-o", "json"]);
    assert_eq!(verify.status.code(), Some(1));
    let row = &rows(&verify)[0];
    assert_eq!((&row["is_sound"], &row["batches"]), (&false.into(), &(BATCHES - 1).into()));
    assert_eq!(row["findings"][0]["file"], written.segment().to_str().unwrap());
    assert_eq!(row["findings"][0]["position"], position);
    let verify = log_command("verify", &written.data(), &[]);
    let place = format!("  damaged: {} at {position}: ", written.segment().display());
    assert!(text(&verify.stdout).contains(&place), "{}", text(&verify.stdout));

    let dump = log_command("dump", &written.segment(), &["-o", "json"]);
    assert_eq!(dump.status.code(), Some(1));
    let rows = rows(&dump);
    assert_eq!(rows.len() as u64, BATCHES, "the batches after the damage are shown");
    assert_eq!(rows[1]["position"], position);
    assert!(rows[1]["damage"].is_string(), "{}", rows[1]);
}

#[test]
fn a_missing_or_invalid_data_directory_is_an_error() {
    let other = tempfile::tempdir().unwrap();
    let missing = other.path().join("missing");
    for (verb, path, reason) in [
        ("dump", missing.as_path(), "No such file or directory"),
        ("verify", missing.as_path(), "No such file or directory"),
        ("verify", other.path(), "no 'meta.properties'"),
    ] {
        let output = log_command(verb, path, &[]);
        assert_eq!(output.status.code(), Some(1), "{verb}");
        assert_eq!(text(&output.stdout), "", "{verb}");
        let message = text(&output.stderr);
        assert!(message.contains(reason), "{message}");
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
}
