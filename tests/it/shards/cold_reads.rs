//! Reads of records that are no longer in memory: only their readers wait for the disk.

use std::time::Duration;

use crate::support::{Connection, LocalBroker, batch, values};

/// The size from which reads are slow.
const LARGE: usize = 64 * 1024;

/// The number of records of a larger batch.
const MANY: u64 = 10_000;

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn cold_reads_do_not_delay_other_clients() {
    let broker = LocalBroker::new(1, &[]);
    let mut other = broker.connect();
    assert_eq!(other.produce(batch(0..MANY), -1).unwrap(), Ok(0));
    let end = i64::try_from(MANY).unwrap();
    other.set_patience(PATIENCE);

    let hold = broker.disk.hold_reads(LARGE);
    // More readers than threads for cold reads.
    let mut cold: Vec<Connection> = (0..10).map(|_| broker.connect()).collect();
    for reader in &mut cold {
        reader.send_fetch(0, Duration::ZERO).unwrap();
    }
    assert!(hold.wait_for(4, PATIENCE), "nobody reads for them");
    for number in 0..20 {
        let offset = end + i64::try_from(number).unwrap();
        assert_eq!(other.produce(batch([number]), -1).unwrap(), Ok(offset));
        assert_eq!(other.read_from(offset).unwrap(), [(offset, number)]);
    }

    drop(hold);
    for mut reader in cold {
        assert_eq!(values(&reader.receive_records().unwrap().records)[..2], [(0, 0), (1, 1)]);
    }
    broker.stop().unwrap();
}
