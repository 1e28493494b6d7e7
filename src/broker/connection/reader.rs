//! One connection: requests in, answers out, in the order of the requests.
//!
//! A reader cuts frames and hands requests on; a writer executes them one after another and sends
//! their answers. Only produce requests run ahead: the reader appends them as they come, all of one
//! read with one write to the disk, as long as nothing but produce requests is pending. So the
//! effects are those of one request after another, and only the waiting overlaps.

use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

use super::answers::{Answers, Pending, Work};
use crate::broker::context::{Session, Shared};
use crate::broker::handlers::{Appends, Taken};
use crate::net::{FrameBuffer, FrameError, Reserved};

/// Requests of one connection that may be pending, and their partitions; the reader stops above it.
const PENDING_MAX: usize = 4096;

/// Frames are charged for the memory they hold once so much of them has come.
const LARGE_FRAME: usize = 64 * 1024;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Closed {
    /// The peer closed it between frames.
    #[error("closed by the peer")]
    ByPeer,
    /// It said nothing for `connections.max.idle.ms`.
    #[error("idle for {0:?}")]
    Idle(Duration),
    /// A request or an answer took longer than `transfer.deadline.ms`.
    #[error("a transfer took longer than {0:?}")]
    Slow(Duration),
    /// The bytes were no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame held no request that can be answered.
    #[error("{0}")]
    Request(#[from] crate::broker::dispatch::Unanswerable),
    /// The system refused.
    #[error("the connection broke")]
    Io(#[from] std::io::Error),
    /// The broker stops.
    #[error("the broker stops")]
    Stopping,
}

/// Serves a connection until it ends, and says why it did.
pub(crate) async fn serve(stream: TcpStream, session: Rc<Session>, shared: Arc<Shared>) -> Closed {
    let (queue, pending) = channel(PENDING_MAX);
    let sequential = Rc::new(Cell::new(0));
    let mut reader = Reader {
        stream: &stream,
        frames: FrameBuffer::new(usize::try_from(shared.config.frame_max.0).unwrap_or(usize::MAX)),
        session: Rc::clone(&session),
        shared: Arc::clone(&shared),
        queue,
        room: Arc::new(Semaphore::new(PENDING_MAX)),
        sequential: Rc::clone(&sequential),
    };
    let answers = Answers::new(&stream, Rc::clone(&session), Arc::clone(&shared));
    let read = async {
        let closed = reader.run().await;
        // What was taken is still executed, so that `acks=0` followed by a close loses nothing;
        // but nobody is left to wait for.
        session.gone.cancel();
        drop(reader);
        closed
    };
    let write = answers.run(pending, &sequential);
    tokio::pin!(read, write);
    let both = async {
        tokio::select! {
            closed = &mut read => { let _ = write.await; closed }
            result = &mut write => result.err().unwrap_or(Closed::ByPeer),
        }
    };
    tokio::select! {
        closed = both => closed,
        () = shared.stopping.cancelled() => Closed::Stopping,
    }
}

struct Reader<'a> {
    stream: &'a TcpStream,
    frames: FrameBuffer,
    session: Rc<Session>,
    shared: Arc<Shared>,
    queue: Sender<Pending>,
    /// Places among the pending requests.
    room: Arc<Semaphore>,
    /// Pending requests that are not produce requests already appended.
    sequential: Rc<Cell<usize>>,
}

impl Reader<'_> {
    async fn run(&mut self) -> Closed {
        let mut memory = None;
        let mut time_left = self.shared.config.transfer_deadline;
        loop {
            let (missing, held) = (self.frames.missing(), self.frames.held());
            if missing > 0 && held > LARGE_FRAME {
                // While this waits, the kernel holds the peer back.
                let memory = memory.get_or_insert_with(|| self.shared.request_memory.open());
                memory.grow_to(held).await;
            }
            let received = match missing {
                0 => self.receive_next().await,
                _ => self.receive_rest(&mut time_left).await,
            };
            if let Err(closed) = received {
                return closed;
            }
            match self.take_frames(&mut memory).await {
                Ok(false) => {}
                // What is left is another frame's, with an account and a time of its own.
                Ok(true) => {
                    memory = None;
                    time_left = self.shared.config.transfer_deadline;
                }
                Err(closed) => return closed,
            }
            self.shared.unflushed_room().await;
            // Otherwise a peer that never pauses would keep its own answers waiting.
            yield_now().await;
        }
    }

    /// Waits for a frame to begin.
    async fn receive_next(&mut self) -> Result<(), Closed> {
        let limit = self.shared.config.connections_idle;
        timeout(limit, self.receive()).await.unwrap_or(Err(Closed::Idle(limit)))
    }

    /// Waits for more of a frame. Only time spent here counts: what the broker itself takes is not
    /// the peer's fault.
    async fn receive_rest(&mut self, time_left: &mut Duration) -> Result<(), Closed> {
        let begin = Instant::now();
        let received = timeout(*time_left, self.receive()).await;
        *time_left = time_left.saturating_sub(begin.elapsed());
        received.unwrap_or(Err(Closed::Slow(self.shared.config.transfer_deadline)))
    }

    /// Waits for bytes and takes what there is.
    async fn receive(&mut self) -> Result<(), Closed> {
        loop {
            self.stream.readable().await?;
            match self.frames.fill(self.stream) {
                Ok(0) => return Err(self.end_of_stream()),
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn end_of_stream(&self) -> Closed {
        match self.frames.missing() {
            0 => Closed::ByPeer,
            missing => FrameError::Truncated { missing }.into(),
        }
    }

    /// Hands on every whole frame received, and tells whether there was one. The first is the one
    /// that `memory` was charged for.
    async fn take_frames(&mut self, memory: &mut Option<Reserved>) -> Result<bool, Closed> {
        let mut any = false;
        let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
        while let Some(mut frames) = self.frames.next_frames()? {
            any = true;
            let mut appends = Appends::new(&shared, &session);
            for frame in frames.iter_mut() {
                let taken = if self.sequential.get() == 0 {
                    appends.take(frame)
                } else {
                    Ok(Taken::OtherApi(frame))
                };
                match taken {
                    Ok(Taken::Yes) => {}
                    Ok(Taken::OtherApi(frame) | Taken::NotOpen(frame, _)) => {
                        self.finish(&mut appends).await?;
                        self.enqueue(frame.to_vec(), memory.take()).await?;
                    }
                    Err(malformed) => {
                        // What came before it is stored, as if it had come alone.
                        self.finish(&mut appends).await?;
                        return Err(malformed.into());
                    }
                }
            }
            self.finish(&mut appends).await?;
        }
        Ok(any)
    }

    /// Appends what was gathered and queues its answers.
    async fn finish(&mut self, appends: &mut Appends<'_>) -> Result<(), Closed> {
        let produced = appends.append();
        match produced.requests.len().max(produced.parts.len()) {
            0 => Ok(()),
            places => self.push(Work::Produced(produced), places).await,
        }
    }

    async fn enqueue(&mut self, frame: Vec<u8>, memory: Option<Reserved>) -> Result<(), Closed> {
        self.sequential.set(self.sequential.get() + 1);
        self.push(Work::Request { frame, _memory: memory }, 1).await
    }

    /// Queues work that takes so many places, all there are at most.
    async fn push(&mut self, work: Work, places: usize) -> Result<(), Closed> {
        let places = u32::try_from(places.min(PENDING_MAX)).unwrap_or(u32::MAX);
        // Neither is ever closed before the writer ends, which it does when the connection broke.
        let room = Arc::clone(&self.room).acquire_many_owned(places).await;
        let room = room.map_err(|_| Closed::ByPeer)?;
        let pending = Pending { work, _room: room };
        self.queue.send(pending).await.map_err(|_| Closed::ByPeer)
    }
}
