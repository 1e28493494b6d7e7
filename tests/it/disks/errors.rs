//! The errors of a disk: what the broker does about them, and what it tells.

use std::thread;
use std::time::{Duration, Instant};

use streamlog::wire::ErrorCode;
use tempfile::TempDir;

use crate::support::{BrokerProcess, Faults, batch};

#[test]
fn a_fault_strikes_the_files_it_names_and_no_others() {
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
fn a_sync_that_fails_ends_the_process_and_its_log_says_which() {
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

/// More than flushes are under way at once as a rule.
const SLOW: usize = 6;

#[test]
fn partitions_that_are_slow_to_sync_hold_up_no_others() {
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
