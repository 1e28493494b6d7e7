//! The baseline: the smallest server that does a broker's work with a broker's guarantees.
//!
//! It parses real Produce and Fetch frames, checks each batch's CRC, assigns its offset, appends
//! it to a file, with `--flush` makes it durable, and only then acknowledges and serves it; fetches
//! are sent from the file by `sendfile`. One thread sleeps in epoll: one read, one write to the
//! file, at most one fdatasync and one send for all frames that arrived together. It has one
//! partition, no recovery, and panics on any input that its load generator does not send.

mod frames;
mod log;

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{MsgFlags, recv, send};

use frames::Request;
use log::Log;

const TOPIC: &str = "bench";
const BUFFER_BYTES: usize = 1 << 20;
/// Up to this size records are copied into the response: cheaper than a second system call.
const COPY_BYTES: u64 = 32 << 10;
const LISTENER: u64 = u64::MAX;

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
    /// A fetch that waits for records: correlation id, offset, maximal bytes.
    parked: Option<(i32, i64, u64)>,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, flush @ ..] = arguments.as_slice() else { panic!("ruler FILE [--flush]") };
    let mut log = Log::create(path, flush == ["--flush"])?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("ready {}", listener.local_addr()?);
    let epoll = Epoll::new(EpollCreateFlags::empty())?;
    epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let count = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        for event in &events[..count] {
            if event.data() == LISTENER {
                connections.push(Some(accept(&listener, &epoll, connections.len())?));
                continue;
            }
            let slot = &mut connections[event.data() as usize];
            if let Some(connection) = slot
                && !serve(connection, &mut log)?
            {
                *slot = None;
            }
            for connection in connections.iter_mut().flatten() {
                answer_parked(connection, &log)?;
            }
        }
    }
}

fn accept(listener: &TcpListener, epoll: &Epoll, slot: usize) -> io::Result<Connection> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, slot as u64))?;
    Ok(Connection { stream, buffer: vec![0; BUFFER_BYTES], filled: 0, parked: None })
}

/// Handles the requests received so far; returns `false` when the peer is gone.
fn serve(connection: &mut Connection, log: &mut Log) -> io::Result<bool> {
    let Connection { stream, buffer, filled, parked } = connection;
    match recv(stream.as_raw_fd(), &mut buffer[*filled..], MsgFlags::MSG_DONTWAIT) {
        Ok(0) | Err(Errno::ECONNRESET) => return Ok(false),
        Err(Errno::EAGAIN) => return Ok(true),
        other => *filled += other?,
    }
    let mut answers = Vec::with_capacity(64 << 10);
    let mut at = 0;
    while let Some((request, next)) = frames::parse(&buffer[..*filled], at) {
        match request {
            Request::Produce { correlation, batch, is_acknowledged } => {
                let base = log.stage(&buffer[batch]);
                if is_acknowledged {
                    frames::produce_answer(&mut answers, TOPIC, correlation, base);
                }
            }
            Request::Fetch { correlation, offset, max_bytes } => {
                *parked = Some((correlation, offset, max_bytes));
            }
        }
        at = next;
    }
    buffer.copy_within(at..*filled, 0);
    *filled -= at;
    log.append()?;
    stream.write_all(&answers)?;
    Ok(true)
}

/// Answers the waiting fetch, if there are records for it.
fn answer_parked(connection: &mut Connection, log: &Log) -> io::Result<()> {
    let Some((correlation, offset, max_bytes)) = connection.parked else { return Ok(()) };
    if offset >= log.end_offset {
        return Ok(());
    }
    connection.parked = None;
    let range = log.range(offset, max_bytes)?;
    let length = range.end - range.start;
    let mut head = frames::fetch_answer_head(TOPIC, correlation, log.end_offset, length);
    if length <= COPY_BYTES {
        let at = head.len();
        head.resize(at + length as usize, 0);
        log.file.read_exact_at(&mut head[at..], range.start)?;
        return connection.stream.write_all(&head);
    }
    let more = MsgFlags::from_bits_retain(nix::libc::MSG_MORE);
    let sent = send(connection.stream.as_raw_fd(), &head, more)?;
    assert_eq!(sent, head.len(), "a blocking send takes a whole head");
    send_range(&connection.stream, log, range)
}

fn send_range(stream: &TcpStream, log: &Log, range: Range<u64>) -> io::Result<()> {
    let mut position = range.start as i64;
    while (position as u64) < range.end {
        let rest = (range.end - position as u64) as usize;
        let sent = sendfile64(stream.as_fd(), log.file.as_fd(), Some(&mut position), rest)?;
        assert!(sent > 0, "the file ended before its range");
    }
    Ok(())
}
