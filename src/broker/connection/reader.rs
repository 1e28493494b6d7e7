//! One connection: requests in, responses out, in the order of the requests.
//!
//! The reader splits the stream into frames and queues requests; the writer executes them in turn
//! and sends the responses. Only produce requests run ahead: the reader appends them on arrival, as
//! long as only produce requests are pending, and all batches of one read for a partition together.
//! So the effects are those of sequential execution, and only the waiting overlaps.

use std::future::{Future, pending};
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

use super::answers::{Answers, Pending, Work};
use super::backlog::{Backlog, PERMITS_MAX};
use super::stages::{Closed, Known};
use crate::broker::context::Shared;
use crate::broker::produce::{Appends, Produced, Taken};
use crate::broker::session::Session;
use crate::net::{FrameBuffer, FrameError, Reserved, Transport};

/// The size above which a frame is charged to the memory budget. Two kinds of reads are free of
/// charge: the read that reveals the frame's size, and reads that begin below this size while the
/// budget has no room for the rest. So a frame that arrives in such reads alone is never charged.
const LARGE_FRAME: usize = 64 * 1024;

/// Serves a connection until it ends, and returns the reason.
pub(super) async fn serve(connection: Known, shared: Arc<Shared>) -> Closed {
    let Known { transport, session, .. } = &connection;
    let (queue, pending) = channel(PERMITS_MAX);
    let backlog = Rc::new(Backlog::new());
    let mut reader = Reader {
        transport,
        frames: FrameBuffer::new(
            usize::try_from(shared.config().frame_max.0).unwrap_or(usize::MAX),
        ),
        memory: None,
        time_left: shared.config().transfer_deadline,
        session: Rc::clone(session),
        shared: Arc::clone(&shared),
        queue,
        backlog: Rc::clone(&backlog),
    };
    let answers = Answers::new(transport, Rc::clone(session), Arc::clone(&shared), backlog);
    let read = async {
        let closed = reader.run().await;
        // Requests already read are still executed, so that `acks=0` followed by a close loses
        // nothing, but they no longer wait for anything.
        session.gone.cancel();
        drop(reader);
        closed
    };
    let write = answers.run(pending);
    tokio::pin!(read, write);
    let both = async {
        tokio::select! {
            closed = &mut read => { let _ = write.await; closed }
            result = &mut write => result.err().unwrap_or(Closed::ByPeer),
        }
    };
    tokio::select! {
        closed = both => closed,
        () = shared.stopping().cancelled() => Closed::Stopping,
    }
}

struct Reader<'a> {
    transport: &'a Transport,
    frames: FrameBuffer,
    /// The memory charged for the current frame, if it is large.
    memory: Option<Reserved>,
    /// The remaining time for the peer to complete the current frame.
    time_left: Duration,
    session: Rc<Session>,
    shared: Arc<Shared>,
    queue: Sender<Pending>,
    backlog: Rc<Backlog>,
}

impl Reader<'_> {
    async fn run(&mut self) -> Closed {
        loop {
            if let Err(closed) = self.receive().await {
                return closed;
            }
            match self.take_frames().await {
                Ok(false) => {}
                // Bytes left in the buffer belong to the next frame, which has its own account and
                // deadline.
                Ok(true) => {
                    self.memory = None;
                    self.time_left = self.shared.config().transfer_deadline;
                }
                Err(closed) => return closed,
            }
            self.shared.wait_for_unflushed_room().await;
            // Yield: otherwise a peer that never pauses would keep the writer from sending
            // responses.
            yield_now().await;
        }
    }

    /// Waits for bytes and reads what is available.
    async fn receive(&mut self) -> Result<(), Closed> {
        loop {
            match self.frames.missing() {
                0 => self.next_begins().await?,
                _ => self.rest_comes().await?,
            }
            match self.fill().await? {
                Ok(0) => return Err(self.end_of_stream()),
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for a frame to begin.
    async fn next_begins(&mut self) -> Result<(), Closed> {
        let limit = self.shared.config().connections_idle;
        let readable = timeout(limit, self.transport.readable()).await;
        Ok(readable.map_err(|_| Closed::Idle(limit))??)
    }

    /// Waits for more of a frame. Only time spent here counts: delays of the broker itself are not
    /// the peer's fault.
    async fn rest_comes(&mut self) -> Result<(), Closed> {
        let begin = Instant::now();
        let readable = timeout(self.time_left, self.transport.readable()).await;
        self.time_left = self.time_left.saturating_sub(begin.elapsed());
        Ok(readable.map_err(|_| Closed::Slow(self.shared.config().transfer_deadline))??)
    }

    /// Reads the available bytes and returns their number. If memory is short, only the beginning
    /// of a large frame is read at first.
    async fn fill(&mut self) -> Result<std::io::Result<usize>, Closed> {
        let (missing, held) = (self.frames.missing(), self.frames.held());
        if missing == 0 || held + missing <= LARGE_FRAME {
            return Ok(self.frames.fill(self.transport));
        }
        if held >= LARGE_FRAME {
            self.admit().await?;
        } else if !self.try_admit() {
            return Ok(self.frames.fill_some(self.transport));
        }
        let filled = self.frames.fill(self.transport);
        if let Some(memory) = &mut self.memory {
            memory.shrink_to(self.frames.held());
        }
        Ok(filled)
    }

    /// Charges a large frame for the space that the next read may fill. While this waits, nothing
    /// is read, so TCP's flow control holds the peer back.
    async fn admit(&mut self) -> Result<(), Closed> {
        // Wait until this request would be executed next: a request that holds memory which other
        // requests need must not wait for anything else.
        if self.memory.is_none() && !self.backlog.is_clear() {
            self.wait_noticing_peer(self.backlog.wait_until_clear()).await?;
        }
        let room = self.frames.reserve_space();
        let memory = self.memory.get_or_insert_with(|| self.shared.open_memory());
        memory.grow_to(room).await;
        Ok(())
    }

    /// Like `admit`, but returns false instead of waiting.
    fn try_admit(&mut self) -> bool {
        let mut memory = match self.memory.take() {
            Some(memory) => memory,
            None if self.backlog.is_clear() => self.shared.open_memory(),
            None => return false,
        };
        let admitted = memory.try_grow_to(self.frames.reserve_space());
        self.memory = Some(memory);
        admitted
    }

    /// Waits for `wait`, for at most `connections.max.idle.ms`. If the peer disconnects meanwhile,
    /// pending requests stop waiting, so that `wait` ends soon.
    async fn wait_noticing_peer<T>(&self, wait: impl Future<Output = T>) -> Result<T, Closed> {
        let limit = self.shared.config().connections_idle;
        let notice = async {
            // Wait only for the end of the stream: bytes may be available all the time.
            let _ = self.transport.ended_by_peer().await;
            // Do not cancel if only produce requests are pending: they are answered soon, and the
            // peer may still read the responses.
            if !self.backlog.lets_run_ahead() {
                self.session.gone.cancel();
            }
            pending::<()>().await;
        };
        tokio::select! {
            biased;
            done = timeout(limit, wait) => done.map_err(|_| Closed::Idle(limit)),
            () = notice => unreachable!("it ends with the wait"),
        }
    }

    fn end_of_stream(&self) -> Closed {
        match self.frames.missing() {
            0 => Closed::ByPeer,
            missing => FrameError::Truncated { missing }.into(),
        }
    }

    /// Processes every complete frame in the buffer; returns true if there was any.
    async fn take_frames(&mut self) -> Result<bool, Closed> {
        let mut any = false;
        // Only the first frame in the buffer can have been charged for.
        if self.memory.is_some()
            && let Some(frame) = self.frames.next_frame()?
        {
            any = true;
            self.take_large(frame).await?;
        }
        let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
        while let Some(mut frames) = self.frames.next_frames()? {
            any = true;
            let mut appends = Appends::new(shared.partitions(&session));
            for frame in frames.iter_mut() {
                let taken = if self.backlog.lets_run_ahead() {
                    appends.take(frame)
                } else {
                    Ok(Taken::OtherApi(frame))
                };
                match taken {
                    Ok(Taken::Yes) => {}
                    Ok(Taken::OtherApi(frame) | Taken::NotOpen(frame, _)) => {
                        self.finish(appends.append().await).await?;
                        let permits = self.permits(Backlog::permits_for(frame.len())).await?;
                        self.enqueue(BytesMut::from(&*frame), None, permits).await?;
                    }
                    Err(malformed) => {
                        // Append the requests before the malformed one as if they had arrived
                        // alone.
                        self.finish(appends.append().await).await?;
                        return Err(malformed.into());
                    }
                }
            }
            self.finish(appends.append().await).await?;
        }
        Ok(any)
    }

    /// Processes a large frame. It was admitted only once the backlog was clear, so a produce
    /// request may be appended at once.
    async fn take_large(&mut self, mut frame: BytesMut) -> Result<(), Closed> {
        let memory = self.memory.take();
        let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
        let mut appends = Appends::new(shared.partitions(&session));
        if let Taken::Yes = appends.take(&mut frame)? {
            let produced = appends.append().await;
            // The response needs neither the frame nor its memory.
            drop(appends);
            drop((frame, memory));
            return self.finish(produced).await;
        }
        drop(appends);
        let permits = self.permits(1).await?;
        self.enqueue(frame, memory, permits).await
    }

    /// Queues the responses to the requests that were appended.
    async fn finish(&mut self, produced: Produced) -> Result<(), Closed> {
        match produced.requests.len().max(produced.parts.len()) {
            0 => Ok(()),
            count => {
                let permits = self.permits(count).await?;
                self.push(Work::Produced(produced), permits).await
            }
        }
    }

    async fn enqueue(
        &mut self,
        frame: BytesMut,
        memory: Option<Reserved>,
        permits: OwnedSemaphorePermit,
    ) -> Result<(), Closed> {
        self.backlog.add_request();
        self.push(Work::Request { frame, memory }, permits).await
    }

    /// Waits for permits of the backlog.
    async fn permits(&self, count: usize) -> Result<OwnedSemaphorePermit, Closed> {
        if let Some(permits) = self.backlog.try_take(count) {
            return Ok(permits);
        }
        // The semaphore is never closed, so it returns no error.
        self.wait_noticing_peer(self.backlog.take(count)).await?.map_err(|_| Closed::ByPeer)
    }

    async fn push(&mut self, work: Work, permits: OwnedSemaphorePermit) -> Result<(), Closed> {
        self.queue.send(Pending { work, _permits: permits }).await.map_err(|_| Closed::ByPeer)
    }
}
