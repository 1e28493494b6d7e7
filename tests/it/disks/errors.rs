//! The errors of a disk: what the broker does about them, and what it tells.

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
