//! The prototype behind decision 0001: the baseline's work on a tokio current-thread runtime.
//!
//! `inline` does everything in the connection's task, like the baseline in its loop. `queued` has
//! the structure of a broker: a task reads and appends, a bounded queue keeps responses in order, a
//! second task sends each when it is due, and with `--flush` a separate thread flushes.
//! `yielding` is `queued` with a reader that lets the second task run before it reads again.

#[path = "../ruler/frames.rs"]
mod frames;
#[path = "../ruler/log.rs"]
mod log;

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{MsgFlags, send};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::{LocalSet, spawn_local, yield_now};

use frames::Request;
use log::Log;

const TOPIC: &str = "bench";
const BUFFER_BYTES: usize = 1 << 20;
const COPY_BYTES: u64 = 32 << 10;
const QUEUE: usize = 64;

/// The state shared by all connections.
#[derive(Clone)]
struct Shard {
    log: Rc<RefCell<Log>>,
    /// The offset below which records may be served.
    visible: watch::Sender<i64>,
    /// Tells the flushing thread the new end; absent without a flushing thread.
    flusher: Option<SyncSender<i64>>,
    queued: bool,
    yields: bool,
}

/// A response to send in order, once records below `offset` may be served.
enum Answer {
    Produced { bytes: Vec<u8>, offset: i64 },
    Fetch { correlation: i32, offset: i64, max_bytes: u64 },
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, shape, flush @ ..] = arguments.as_slice() else {
        panic!("spike FILE inline|queued|yielding [--flush]")
    };
    let (queued, flush) = (shape != "inline", flush == ["--flush"]);
    let log = Log::create(path, flush && !queued)?;
    let visible = watch::Sender::new(0);
    let flusher = (queued && flush).then(|| start_flusher(&log, visible.clone())).transpose()?;
    let shard = Shard {
        log: Rc::new(RefCell::new(log)),
        visible,
        flusher,
        queued,
        yields: shape == "yielding",
    };
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(LocalSet::new().run_until(accept(shard)))
}

fn start_flusher(log: &Log, visible: watch::Sender<i64>) -> io::Result<SyncSender<i64>> {
    let file = log.file.try_clone()?;
    let (tell, told) = sync_channel::<i64>(1024);
    thread::spawn(move || {
        while let Ok(end) = told.recv() {
            // All requests that arrived meanwhile share this flush.
            let end = told.try_iter().last().unwrap_or(end);
            file.sync_data().expect("fdatasync");
            visible.send_replace(end);
        }
    });
    Ok(tell)
}

async fn accept(shard: Shard) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ready {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn_local(serve(shard.clone(), stream));
    }
}

async fn serve(shard: Shard, stream: TcpStream) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let (queue, mut answers) = mpsc::channel(QUEUE);
    let sender = shard.clone();
    if shard.queued {
        spawn_local(async move {
            while let Some(answer) = answers.recv().await {
                send_answer(&sender, &mut writing, answer).await?;
            }
            io::Result::Ok(())
        });
        return read(&shard, reading, async |answer| {
            queue.send(answer).await.map_err(|_| ErrorKind::BrokenPipe.into())
        })
        .await;
    }
    read(&shard, reading, async |answer| send_answer(&shard, &mut writing, answer).await).await
}

/// Reads all available requests, appends their batches, and queues one response for all produces.
async fn read(
    shard: &Shard,
    reading: OwnedReadHalf,
    mut answer: impl AsyncFnMut(Answer) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    loop {
        reading.readable().await?;
        match reading.try_read(&mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        let (mut bytes, mut fetch, mut at) = (Vec::with_capacity(64 << 10), None, 0);
        while let Some((request, next)) = frames::parse(&buffer[..filled], at) {
            match request {
                Request::Produce { correlation, batch, is_acknowledged } => {
                    assert!(is_acknowledged, "acks=0 is for the ruler");
                    let base = shard.log.borrow_mut().stage(&buffer[batch]);
                    frames::produce_answer(&mut bytes, TOPIC, correlation, base);
                }
                Request::Fetch { correlation, offset, max_bytes } => {
                    fetch = Some(Answer::Fetch { correlation, offset: offset + 1, max_bytes });
                }
            }
            at = next;
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        if !bytes.is_empty() {
            answer(Answer::Produced { bytes, offset: append(shard)? }).await?;
            if shard.yields {
                yield_now().await;
            }
        }
        if let Some(fetch) = fetch {
            answer(fetch).await?;
        }
    }
}

fn append(shard: &Shard) -> io::Result<i64> {
    shard.log.borrow_mut().append()?;
    let end = shard.log.borrow().end_offset;
    match &shard.flusher {
        Some(flusher) => flusher.send(end).map_err(io::Error::other)?,
        None => drop(shard.visible.send_replace(end)),
    }
    Ok(end)
}

async fn send_answer(shard: &Shard, to: &mut OwnedWriteHalf, answer: Answer) -> io::Result<()> {
    let (Answer::Produced { offset, .. } | Answer::Fetch { offset, .. }) = answer;
    let mut visible = shard.visible.subscribe();
    let seen = *visible.wait_for(|end| *end >= offset).await.map_err(io::Error::other)?;
    match answer {
        Answer::Produced { bytes, .. } => to.write_all(&bytes).await,
        Answer::Fetch { correlation, offset, max_bytes } => {
            let range = shard.log.borrow().range(offset - 1, max_bytes)?;
            let length = range.end - range.start;
            let mut head = frames::fetch_answer_head(TOPIC, correlation, seen, length);
            if length <= COPY_BYTES {
                let at = head.len();
                head.resize(at + length as usize, 0);
                shard.log.borrow().file.read_exact_at(&mut head[at..], range.start)?;
                return to.write_all(&head).await;
            }
            send_range(shard, to.as_ref(), &head, range.start..range.end).await
        }
    }
}

async fn send_range(
    shard: &Shard,
    to: &TcpStream,
    head: &[u8],
    range: std::ops::Range<u64>,
) -> io::Result<()> {
    let more = MsgFlags::from_bits_retain(nix::libc::MSG_MORE);
    let sent = to.async_io(Interest::WRITABLE, || Ok(send(to.as_raw_fd(), head, more)?)).await?;
    assert_eq!(sent, head.len(), "an empty socket takes a whole head");
    let mut position = range.start as i64;
    while (position as u64) < range.end {
        let rest = (range.end - position as u64) as usize;
        to.async_io(Interest::WRITABLE, || {
            Ok(sendfile64(to.as_fd(), shard.log.borrow().file.as_fd(), Some(&mut position), rest)?)
        })
        .await?;
    }
    Ok(())
}
