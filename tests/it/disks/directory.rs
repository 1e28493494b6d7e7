//! A data directory belongs to one broker, and a broker to one data directory.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use streamlog::wire::ErrorCode;
use tempfile::TempDir;

use crate::support::{BrokerProcess, Connection, TOPIC, batch, try_create_topic};

/// A broker with a record, and its data directory.
struct World {
    outside: TempDir,
    broker: BrokerProcess,
    client: Connection,
}

impl World {
    fn new(settings: &[&str]) -> Self {
        let outside = TempDir::new().unwrap();
        let data = outside.path().join("data");
        let broker = BrokerProcess::start(&data, settings, |_| {}).unwrap();
        broker.make_test_topic();
        let mut client = broker.connect();
        assert_eq!(client.produce(batch([0]), -1).unwrap(), Ok(0));
        Self { outside, broker, client }
    }

    fn data(&self) -> PathBuf {
        self.outside.path().join("data")
    }

    fn partition(&self) -> PathBuf {
        self.data().join(format!("{TOPIC}-0"))
    }

    /// Checks that the next record is not acknowledged, and that the broker stops with the reason.
    fn assert_stops(mut self, path: &Path) -> TempDir {
        let answer = self.client.produce(batch([1]), -1);
        assert!(!matches!(answer, Ok(Ok(_))), "acknowledged at {answer:?}");
        self.assert_has_stopped(path)
    }

    /// Checks that the broker stops with the reason.
    fn assert_has_stopped(self, path: &Path) -> TempDir {
        self.broker.await_log("the broker stops");
        let log = self.broker.log();
        let line = log.lines().find(|line| line.contains("the broker stops")).unwrap();
        assert!(line.contains(&*path.to_string_lossy()), "{line}");
        assert!(line.contains("while in use"), "{line}");
        assert!(!self.broker.end().success());
        self.outside
    }
}

/// Removes a directory in which the broker may be creating files.
fn remove_all(dir: &Path) {
    let removed = (0..1000).map(|_| fs::remove_dir_all(dir)).find_map(|removed| match removed {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => None,
        removed => Some(removed),
    });
    removed.unwrap().unwrap();
}

fn assert_is_refused(data: &Path) {
    let said = BrokerProcess::start(data, &[], |_| {}).err().unwrap_or_default();
    assert!(said.contains("is in use by"), "{said}");
}

#[test]
fn a_second_broker_is_refused_by_whatever_path_and_without_the_lock_file() {
    let mut world = World::new(&[]);
    let link = world.outside.path().join("link");
    symlink(world.data(), &link).unwrap();
    assert_is_refused(&link);
    fs::remove_file(world.data().join(".lock")).unwrap();
    assert_is_refused(&world.data());
    assert_is_refused(&link);
    assert_eq!(world.client.produce(batch([1]), -1).unwrap(), Ok(1));
    assert!(world.broker.stop().success());

    let again = BrokerProcess::start(&link, &[], |_| {}).unwrap();
    assert_eq!(again.connect().read_from(0).unwrap(), [(0, 0), (1, 1)]);
    assert!(again.stop().success());
}

#[test]
fn a_directory_removed_under_a_broker_takes_no_acknowledged_record_with_it() {
    let world = World::new(&[]);
    let data = world.data();
    remove_all(&data);
    let _outside = world.assert_stops(&data);
    assert!(!data.exists(), "it was made again");
}

#[test]
fn a_directory_replaced_under_a_broker_is_left_alone() {
    let world = World::new(&[]);
    let data = world.data();
    fs::rename(&data, world.outside.path().join("aside")).unwrap();
    fs::create_dir(&data).unwrap();
    let _outside = world.assert_stops(&data);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
fn a_partition_removed_under_a_broker_acknowledges_no_more_records() {
    let world = World::new(&[]);
    let partition = world.partition();
    remove_all(&partition);
    world.assert_stops(&partition);
}

#[test]
fn no_change_of_the_metadata_is_acknowledged_into_removed_files() {
    for is_whole in [true, false] {
        let mut world = World::new(&[]);
        let gone = if is_whole { world.data() } else { world.data().join("metadata") };
        remove_all(&gone);
        let answer = try_create_topic(&mut world.client, "another", 1);
        assert!(!matches!(answer, Ok((ErrorCode::None, _))), "acknowledged: {answer:?}");
        world.assert_has_stopped(&gone);
    }
}

#[test]
fn with_write_caching_what_was_removed_is_noticed_within_a_second() {
    let never = ["log.flush.interval.ms=600000", "write.caching=true"];
    for is_whole in [true, false] {
        let world = World::new(&never);
        let gone = if is_whole { world.data() } else { world.partition() };
        remove_all(&gone);
        thread::sleep(Duration::from_millis(1100));
        world.assert_stops(&gone);
    }
}
