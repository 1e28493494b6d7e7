//! Produces at the server's maximal rate, with a fixed number of requests in flight.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::frames;

/// The size of the receive buffer, shared by the connections.
const RECEIVE_BYTES: usize = 1 << 20;

/// The amount of work, and its distribution.
pub struct Plan<'a> {
    pub topic: &'a str,
    pub acks: i16,
    pub records: u64,
    pub record_bytes: usize,
    pub batch: usize,
    /// The total; each connection has its share.
    pub in_flight: u64,
    /// The number of partitions; requests go to them in turn.
    pub partitions: u32,
    /// After this time nothing more is sent.
    pub limit: Duration,
}

/// The records that were produced, the time they took, and the progress meanwhile.
pub struct Produced {
    pub records: u64,
    pub took: Duration,
    pub series: Vec<(u64, Duration)>,
}

/// The number of samples of the progress.
const SAMPLES: u64 = 40;

/// The requests and responses of one connection.
struct Window {
    stream: TcpStream,
    /// The number of requests of this connection.
    requests: u64,
    in_flight: u64,
    /// Encoded requests, one after another; sent repeatedly.
    frames: Vec<u8>,
    frame_bytes: usize,
    frames_count: u64,
    sent_bytes: u64,
    /// With `acks=0`: the number of requests sent.
    answered: u64,
    has_answers: bool,
    received: Vec<u8>,
    filled: usize,
}

/// Produces all records; with `acks=0` it returns once all are sent.
pub fn run(streams: Vec<TcpStream>, plan: &Plan<'_>) -> io::Result<Produced> {
    let connections = streams.len() as u64;
    let mut windows = (0..)
        .zip(streams)
        .map(|(number, stream)| Window::new(stream, plan, number, connections))
        .collect::<io::Result<Vec<_>>>()?;
    let began = Instant::now();
    let (mut series, mut blocked) = (Vec::new(), vec![false; windows.len()]);
    let every = (plan.records / SAMPLES).max(1);
    loop {
        for (window, blocked) in windows.iter_mut().zip(&mut blocked) {
            *blocked = window.send()?;
        }
        let (records, took) = (done(&windows, plan), began.elapsed());
        if records >= every * (series.len() as u64 + 1) {
            series.push((records, took));
        }
        if windows.iter().all(|window| window.answered == window.requests) {
            return Ok(Produced { records, took, series });
        }
        if took > plan.limit {
            windows.iter_mut().for_each(Window::send_no_more);
        }
        let ready = wait(&windows, &blocked)?;
        for (window, _) in windows.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            window.receive(plan)?;
        }
    }
}

fn done(windows: &[Window], plan: &Plan<'_>) -> u64 {
    windows.iter().map(|window| window.answered).sum::<u64>() * plan.batch as u64
}

/// Waits until a connection has responses, or one whose socket was full is writable again;
/// returns the readable ones.
fn wait(windows: &[Window], blocked: &[bool]) -> io::Result<Vec<bool>> {
    let mut watched = Vec::with_capacity(windows.len());
    for (window, blocked) in windows.iter().zip(blocked) {
        let room = if *blocked { PollFlags::POLLOUT } else { PollFlags::empty() };
        watched.push(PollFd::new(window.stream.as_fd(), PollFlags::POLLIN | room));
    }
    let ready = poll(&mut watched, PollTimeout::from(20_000u16))?;
    assert!(ready > 0, "no answer for 20 seconds");
    Ok(watched.iter().map(|fd| fd.revents().is_some_and(|events| !events.is_empty())).collect())
}

impl Window {
    fn new(stream: TcpStream, plan: &Plan<'_>, number: u64, connections: u64) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let batch = frames::batch(plan.batch, &vec![b'x'; plan.record_bytes], 0);
        let in_flight = (plan.in_flight / connections).max(1);
        // Use every partition, however few requests are in flight.
        let frames_count = in_flight.next_multiple_of(u64::from(plan.partitions));
        let frame = |correlation: u32| {
            let partition = (correlation + number as u32) % plan.partitions;
            frames::produce_to((plan.topic, partition), plan.acks, correlation as i32, &batch)
        };
        let requests = plan.records.div_ceil(plan.batch as u64);
        Ok(Self {
            stream,
            requests: requests / connections + u64::from(number < requests % connections),
            in_flight,
            frame_bytes: frame(0).len(),
            frames: (0..frames_count as u32).flat_map(frame).collect(),
            frames_count,
            sent_bytes: 0,
            answered: 0,
            has_answers: plan.acks != 0,
            received: vec![0; RECEIVE_BYTES / connections as usize + 4096],
            filled: 0,
        })
    }

    /// Sends as many requests as may be in flight; returns true if the socket is full.
    fn send(&mut self) -> io::Result<bool> {
        let is_full = self.send_allowed()?;
        if !self.has_answers {
            self.answered = self.sent_bytes / self.frame_bytes as u64;
        }
        Ok(is_full)
    }

    /// Ends with the request that is sent in part or whole.
    fn send_no_more(&mut self) {
        self.requests = self.requests.min(self.sent_bytes.div_ceil(self.frame_bytes as u64));
    }

    fn send_allowed(&mut self) -> io::Result<bool> {
        let in_flight = if self.has_answers { self.in_flight } else { u64::MAX - self.answered };
        let allowed = self.requests.min(self.answered + in_flight) * self.frame_bytes as u64;
        while self.sent_bytes < allowed {
            let ring = self.frames.len() as u64;
            let at = self.sent_bytes % ring;
            let end = ring.min(at + allowed - self.sent_bytes);
            match self.stream.write(&self.frames[at as usize..end as usize]) {
                Ok(count) => self.sent_bytes += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Reads the available responses, and checks their order and error codes.
    fn receive(&mut self, plan: &Plan<'_>) -> io::Result<()> {
        match self.stream.read(&mut self.received[self.filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut at = 0;
        while let Some(size) = self.received[at..self.filled].first_chunk::<4>() {
            let end = at + 4 + u32::from_be_bytes(*size) as usize;
            if end > self.filled {
                break;
            }
            self.check(plan, &self.received[at + 4..end]);
            self.answered += 1;
            at = end;
        }
        self.received.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }

    fn check(&self, plan: &Plan<'_>, answer: &[u8]) {
        let correlation = u32::from_be_bytes(answer[..4].try_into().expect("4 bytes"));
        assert_eq!(
            u64::from(correlation),
            self.answered % self.frames_count,
            "order of the answers"
        );
        frames::produced(plan.topic, answer);
    }
}
