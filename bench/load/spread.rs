//! Times single requests, each for a different partition.
//!
//! One request is in flight. A partition is used again only after all others, so that a server's
//! cache of recently used partitions is useless unless it has space for all of them.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::frames;
use crate::produce::Plan;

/// The step from one partition to the next: a prime, so that it reaches every partition unless
/// it divides their number.
const STRIDE: u64 = 7919;

const FETCH_BYTES: i32 = 1 << 20;

/// The latencies of the requests, by kind.
pub struct Latencies {
    pub produce: Vec<Duration>,
    pub fetch: Vec<Duration>,
}

/// Produces `plan.records` one by one and, after each, fetches from the start of a partition with
/// records that was not used recently.
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
