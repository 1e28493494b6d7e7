//! A broker that starts with a wrong clock does not remove data for its age at once.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, ManualClock, MemoryDisk};
use streamlog::types::Timestamp;
use streamlog::wire::ErrorCode;
use tempfile::TempDir;

use crate::support::{BrokerProcess, Connection, Faults, LocalBroker, TOPIC, batch};
use crate::support::{commit, find_coordinator, stored};

/// The time of the records.
pub(super) const THEN: Timestamp = Timestamp::from_millis(1_700_000_000_000);
pub(super) const DAY: Duration = Duration::from_hours(24);
pub(super) const GRACE: Duration = Duration::from_hours(1);
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Settings with the shortest intervals for retention.
const SETTINGS: &[(&str, &str)] = &[
    ("log.segment.bytes", "1024"),
    ("log.retention.check.interval.ms", "50"),
    ("offsets.retention.check.interval.ms", "1000"),
    ("offsets.topic.num.partitions", "1"),
    ("file.delete.delay.ms", "0"),
];

/// Many times as long as a retention pass takes.
const LOOKS: Duration = Duration::from_millis(2500);

/// A directory with a topic of some segments and a committed offset, closed at `THEN`.
fn made() -> FaultyDisk {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let clock = Arc::new(ManualClock::at(THEN));
    let broker = LocalBroker::at(&clock, disk, SETTINGS).unwrap();
    broker.make_topic();
    let mut client = broker.connect();
    for numbers in 0..4 {
        client.produce(batch(numbers * 100..numbers * 100 + 100), -1).unwrap().unwrap();
    }
    find_coordinator(&mut client, "group");
    commit(&mut client, "group", 7);
    let disk = broker.stop().unwrap();
    assert!(segments(&disk) > 3);
    disk
}

fn segments(disk: &FaultyDisk) -> usize {
    let names = disk.list(Path::new("/data/test-0")).unwrap();
    names.iter().filter(|entry| Path::new(&entry.name).extension() == Some("log".as_ref())).count()
}

/// The data that the broker still has: its first record, and the committed offset.
fn kept(client: &mut Connection) -> (bool, Result<i64, ErrorCode>) {
    client.send_fetch(0, Duration::ZERO).unwrap();
    let found = client.receive_records().unwrap();
    (found.error_code == ErrorCode::None, stored(client, "group"))
}

/// Advances the clock in small steps, so that every task reads it.
fn let_look(clock: &ManualClock) {
    let end = Instant::now() + LOOKS;
    while Instant::now() < end {
        clock.advance(Duration::from_millis(100));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_start_nine_days_ahead_removes_nothing_before_the_grace_has_passed() {
    let disk = made();
    // A second start with the wrong clock must not make its time trusted.
    let mut wall = THEN.plus(9 * DAY);
    let mut disk = disk;
    for _ in 0..2 {
        let clock = Arc::new(ManualClock::at(wall));
        let broker = LocalBroker::at(&clock, disk, SETTINGS).unwrap();
        let_look(&clock);
        assert_eq!(kept(&mut broker.connect()), (true, Ok(7)));
        wall = clock.now();
        disk = broker.stop().unwrap();
    }
    let clock = Arc::new(ManualClock::at(wall));
    let broker = LocalBroker::at(&clock, disk, SETTINGS).unwrap();
    let_look(&clock);
    assert_eq!(kept(&mut broker.connect()), (true, Ok(7)));
    clock.advance(GRACE);
    let deadline = Instant::now() + PATIENCE;
    while kept(&mut broker.connect()) != (false, Ok(-1)) {
        assert!(Instant::now() < deadline, "{:?}", kept(&mut broker.connect()));
        let_look(&clock);
    }
    broker.stop().unwrap();
}

#[test]
fn a_clock_that_is_corrected_within_the_grace_period_costs_no_data() {
    let clock = Arc::new(ManualClock::at(THEN.plus(9 * DAY)));
    let broker = LocalBroker::at(&clock, made(), SETTINGS).unwrap();
    let_look(&clock);
    clock.set_wall(THEN.plus(GRACE));
    let_look(&clock);
    clock.advance(2 * GRACE);
    let_look(&clock);
    assert_eq!(kept(&mut broker.connect()), (true, Ok(7)));
    broker.stop().unwrap();
}

#[test]
fn a_process_started_nine_days_ahead_warns_and_waits() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    let data = dir.path().join("data");
    let settings = ["log.segment.bytes=1024", "log.retention.check.interval.ms=100"];
    let broker = BrokerProcess::start(&data, &settings, |_| {}).unwrap();
    broker.make_test_topic();
    for numbers in 0..4 {
        let numbers = numbers * 100..numbers * 100 + 100;
        broker.connect().produce(batch(numbers), -1).unwrap().unwrap();
    }

    assert!(broker.stop().success());

    let ahead = |command: &mut std::process::Command| {
        faults.rule(command);
        command.env("STREAMLOG_CLOCK_AHEAD", (9 * DAY).as_secs().to_string());
    };
    let broker = BrokerProcess::start(&data, &settings, ahead).unwrap();
    broker.await_log("the wall clock is 77");
    broker.await_log("these segments are too old by it");
    let found = broker.connect().read_from(0).unwrap();
    assert_eq!(found.len(), 400);
    assert!(broker.stop().success());

    let at_once = [&settings[..], &["log.retention.grace.ms=1000"]].concat();
    let broker = BrokerProcess::start(&data, &at_once, ahead).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = broker.connect();
        client.send_fetch(0, Duration::ZERO).unwrap();
        if client.receive_records().unwrap().error_code == ErrorCode::OffsetOutOfRange {
            break;
        }
        assert!(Instant::now() < deadline, "{TOPIC} keeps all:\n{}", broker.log());
        thread::sleep(Duration::from_millis(50));
    }
    assert!(broker.stop().success());
}
