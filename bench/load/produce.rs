//! Produces as fast as the server takes it, with a fixed number of requests in flight.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::frames;

/// What to produce.
pub struct Plan<'a> {
    pub topic: &'a str,
    pub acks: i16,
    pub records: u64,
    pub record_bytes: usize,
    pub batch: usize,
    pub in_flight: u64,
}

/// Answers and requests of one connection, counted.
struct Window {
    stream: TcpStream,
    /// As many ready frames as may be in flight, one after another; sent round and round.
    frames: Vec<u8>,
    frame_bytes: usize,
    sent_bytes: u64,
    answered: u64,
    received: Vec<u8>,
    filled: usize,
}

/// Produces all records and tells how long it took from the first byte to the last answer.
pub fn run(stream: TcpStream, plan: &Plan<'_>) -> io::Result<Duration> {
    stream.set_nonblocking(true)?;
    let batch = frames::batch(plan.batch, &vec![b'x'; plan.record_bytes], 0);
    let one = frames::produce(plan.topic, plan.acks, 0, &batch);
    let numbered = (0..plan.in_flight as i32)
        .flat_map(|correlation| frames::produce(plan.topic, plan.acks, correlation, &batch));
    let mut window = Window {
        stream,
        frames: numbered.collect(),
        frame_bytes: one.len(),
        sent_bytes: 0,
        answered: 0,
        received: vec![0; 1 << 20],
        filled: 0,
    };
    let requests = plan.records.div_ceil(plan.batch as u64);
    let began = Instant::now();
    while window.answered < requests {
        let allowed = requests.min(window.answered + plan.in_flight) * window.frame_bytes as u64;
        let blocked = window.send(allowed)?;
        window.wait(blocked)?;
        window.receive(plan)?;
    }
    Ok(began.elapsed())
}

impl Window {
    /// Sends up to `allowed` bytes since the start; whether the socket is full.
    fn send(&mut self, allowed: u64) -> io::Result<bool> {
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

    fn wait(&self, blocked: bool) -> io::Result<()> {
        let room = if blocked { PollFlags::POLLOUT } else { PollFlags::empty() };
        let mut watched = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN | room)];
        let ready = poll(&mut watched, PollTimeout::from(20_000u16))?;
        assert!(ready > 0, "no answer for 20 seconds");
        Ok(())
    }

    /// Takes the answers that are there and looks at their order and error codes.
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
        assert_eq!(u64::from(correlation), self.answered % plan.in_flight, "order of the answers");
        frames::produced(plan.topic, answer);
    }
}
