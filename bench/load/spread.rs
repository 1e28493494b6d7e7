//! Times single requests that go to a different partition each time.
//!
//! One request is in flight. No partition comes up again before all others have, so that nothing a
//! server keeps for the partitions used last is of any use unless it has room for all of them.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::frames;
use crate::produce::Plan;

/// From one partition to the next: a prime, so that it leads to every partition of any number of
/// them that it does not divide.
const STRIDE: u64 = 7919;

const FETCH_BYTES: i32 = 1 << 20;

/// The latencies of the requests, by kind.
pub struct Latencies {
    pub produce: Vec<Duration>,
    pub fetch: Vec<Duration>,
}

/// Produces `plan.records` one by one and, after each, fetches a partition from its start that was
/// not used for long and has records.
pub fn run(mut stream: TcpStream, plan: &Plan<'_>) -> io::Result<Latencies> {
    let batch = frames::batch(1, &vec![b'x'; plan.record_bytes], 0);
    let partitions = u64::from(plan.partitions);
    assert!(!partitions.is_multiple_of(STRIDE), "{partitions} partitions are not all reached");
    let mut latencies = Latencies { produce: Vec::new(), fetch: Vec::new() };
    let mut buffer = Vec::new();
    for number in 0..plan.records {
        let to = (number * STRIDE % partitions) as u32;
        let request = frames::produce_to((plan.topic, to), plan.acks, number as i32, &batch);
        let began = Instant::now();
        stream.write_all(&request)?;
        let answer = frames::read_answer(&stream, &mut buffer)?;
        latencies.produce.push(began.elapsed());
        frames::produced(plan.topic, answer);

        let from = ((number + partitions / 2) * STRIDE % partitions) as u32;
        let request = frames::fetch_from((plan.topic, from), number as i32, 0, FETCH_BYTES);
        let began = Instant::now();
        stream.write_all(&request)?;
        let answer = frames::read_answer(&stream, &mut buffer)?;
        latencies.fetch.push(began.elapsed());
        let records = frames::fetched(plan.topic, answer);
        assert!(frames::batches(records).next().is_some(), "partition {from} has no records");
    }
    Ok(latencies)
}
