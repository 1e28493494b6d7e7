//! Measures the time from the scheduled send of a record to its arrival at the consumer.
//!
//! The load is open: records are sent on a fixed schedule, whatever the server does, and the
//! latency of a late record counts from its scheduled time, so that a stall shows in full.

use std::io::{self, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::frames;
use crate::produce::Plan;

const FETCH_BYTES: i32 = 1 << 20;

/// Sends `plan.records` at `rate` a second; returns the latencies in the order of arrival.
pub fn run(
    connect: impl Fn() -> io::Result<TcpStream>,
    plan: &Plan<'_>,
    rate: f64,
) -> io::Result<Vec<Duration>> {
    let (consumer, producer) = (connect()?, connect()?);
    let first = send_first(&producer, plan)?;
    thread::scope(|scope| {
        let consuming = scope.spawn(|| consume(consumer, plan, first + 1));
        // The responses are not timed, but they must not fill the socket.
        let draining = scope.spawn(|| drain(&producer, plan));
        send_by_timetable(&producer, plan, rate)?;
        draining.join().expect("the reader of answers ran")?;
        consuming.join().expect("the consumer ran")
    })
}

/// Sends a record before the schedule starts, and returns its offset.
pub fn send_first(mut producer: &TcpStream, plan: &Plan<'_>) -> io::Result<i64> {
    let batch = frames::batch(1, &vec![0; plan.record_bytes], 0);
    producer.write_all(&frames::produce(plan.topic, plan.acks, 0, &batch))?;
    let mut buffer = Vec::new();
    Ok(frames::produced(plan.topic, frames::read_answer(producer, &mut buffer)?))
}

fn send_by_timetable(mut producer: &TcpStream, plan: &Plan<'_>, rate: f64) -> io::Result<()> {
    let began = now()?;
    let mut value = vec![b'x'; plan.record_bytes];
    for number in 1..=plan.records {
        let due = began + Duration::from_secs_f64(number as f64 / rate);
        let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &TimeSpec::from(due))?;
        value[..8].copy_from_slice(&(due.as_nanos() as u64).to_be_bytes());
        let batch = frames::batch(1, &value, 0);
        producer.write_all(&frames::produce(plan.topic, plan.acks, number as i32, &batch))?;
    }
    Ok(())
}

fn drain(producer: &TcpStream, plan: &Plan<'_>) -> io::Result<()> {
    let mut buffer = Vec::new();
    for _ in 0..plan.records {
        frames::produced(plan.topic, frames::read_answer(producer, &mut buffer)?);
    }
    Ok(())
}

fn consume(mut consumer: TcpStream, plan: &Plan<'_>, from: i64) -> io::Result<Vec<Duration>> {
    let mut latencies = Vec::with_capacity(plan.records as usize);
    let (mut buffer, mut next) = (Vec::new(), from);
    while (latencies.len() as u64) < plan.records {
        consumer.write_all(&frames::fetch(plan.topic, 0, next, FETCH_BYTES))?;
        let answer = frames::read_answer(&consumer, &mut buffer)?;
        let arrived = now()?;
        for batch in frames::batches(frames::fetched(plan.topic, answer)) {
            let value = &batch.bytes[batch.bytes.len() - 1 - plan.record_bytes..];
            let due = u64::from_be_bytes(value[..8].try_into().expect("8 bytes"));
            latencies.push(arrived.saturating_sub(Duration::from_nanos(due)));
            next = batch.next_offset;
        }
    }
    Ok(latencies)
}

fn now() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}
