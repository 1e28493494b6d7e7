//! A broker that is told to stop does not wait for its clients.

use std::time::{Duration, Instant};

use crate::support::{Connection, LocalBroker, batch};

/// Generous: a stop is a matter of milliseconds, but machines are busy.
const AT_ONCE: Duration = Duration::from_secs(10);

fn stops_at_once(broker: LocalBroker) {
    let begin = Instant::now();
    broker.stop().unwrap();
    assert!(begin.elapsed() < AT_ONCE, "it took {:?} to stop", begin.elapsed());
}

#[test]
fn parked_fetches_and_unflushed_records_do_not_keep_a_broker() {
    let settings = [("flush.ms", "600000"), ("flush.on.demand", "false")];
    let broker = LocalBroker::new(1, &settings);
    let parked: Vec<Connection> = (0..50)
        .map(|number| {
            let mut connection = broker.connect();
            connection.send_batch(batch([number]), -1).unwrap();
            connection.send_fetch(0, Duration::from_mins(10)).unwrap();
            connection
        })
        .collect();
    stops_at_once(broker);
    drop(parked);
}

#[test]
fn a_peer_that_said_good_bye_and_takes_no_answers_does_not_keep_a_broker() {
    let broker = LocalBroker::new(2, &[]);
    let mut deaf = broker.connect();
    deaf.produce(batch(0..30_000), 1).unwrap().unwrap();
    // More than the sockets of both ends hold.
    for _ in 0..100 {
        deaf.send_fetch(0, Duration::ZERO).unwrap();
    }
    deaf.send_no_more().unwrap();
    assert!(!deaf.is_silent_for(Duration::from_secs(5)));
    std::thread::sleep(Duration::from_millis(300));
    stops_at_once(broker);
    drop(deaf);
}
