//! Reads a partition from its start by successive large fetches.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::frames;

/// Fetches until at least `records` have arrived; returns their number, and the elapsed time.
pub fn run(
    mut stream: TcpStream,
    topic: &str,
    records: u64,
    max_bytes: i32,
) -> io::Result<(u64, Duration)> {
    let mut buffer = vec![0; max_bytes as usize + 4096];
    let (mut total, mut next) = (0, 0);
    let began = Instant::now();
    while total < records {
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
