//! Reads a partition from its start by successive large fetches.

use std::io::{self, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::frames;

/// The records to read, and the longest time for it.
pub struct Plan<'a> {
    pub topic: &'a str,
    pub records: u64,
    pub max_bytes: i32,
    pub limit: Duration,
}

/// Fetches until at least that many records have arrived, or the time is over; returns their
/// number, and the elapsed time.
pub fn run(mut stream: TcpStream, plan: &Plan<'_>) -> io::Result<(u64, Duration)> {
    let Plan { topic, records, max_bytes, limit } = *plan;
    let mut buffer = vec![0; max_bytes as usize + 4096];
    let (mut total, mut next) = (0, 0);
    let began = Instant::now();
    while total < records && began.elapsed() < limit {
        stream.write_all(&frames::fetch(topic, 0, next, max_bytes))?;
        let answer = frames::read_answer(&stream, &mut buffer)?;
        let before = next;
        for batch in frames::batches(frames::fetched(topic, answer)) {
            total += batch.records;
            next = batch.next_offset;
        }
        assert!(next > before, "a fetch without a whole batch at offset {before}");
    }
    Ok((total, began.elapsed()))
}

/// Waits until the partition shows the record at `offset`.
pub fn wait_for(mut stream: TcpStream, topic: &str, offset: i64) -> io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        stream.write_all(&frames::fetch(topic, 0, offset, 1 << 20))?;
        if frames::has_records(topic, frames::read_answer(&stream, &mut buffer)?) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
}
