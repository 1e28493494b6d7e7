//! The writing half of a connection: executes pending requests in order and sends the responses.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::backlog::Backlog;
use super::stages::Closed;
use crate::broker::context::Shared;
use crate::broker::dispatch::execute;
use crate::broker::produce::Produced;
use crate::broker::session::Session;
use crate::net::{Outgoing, Piece, Reserved, Transport, Written};

/// The number of bytes of responses gathered before they are sent; more would only delay the first.
const GATHERED_MAX: u64 = 256 * 1024;

/// An item in the queue from the reader to the writer of a connection.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The pending requests.
    pub(crate) work: Work,
    /// The permits that the item holds of the connection's backlog.
    pub(crate) _permits: OwnedSemaphorePermit,
}

/// One or more requests that have not been answered yet.
#[derive(Debug)]
pub(crate) enum Work {
    /// Produce requests, whose batches were appended on arrival.
    Produced(Produced),
    /// Any other request, executed in its turn.
    Request {
        /// The frame, without its length.
        frame: BytesMut,
        /// The request's share of the memory for large requests, if it is large.
        memory: Option<Reserved>,
    },
}

/// The sender of one connection's responses.
pub(crate) struct Answers<'a> {
    transport: &'a Transport,
    out: Outgoing,
    session: Rc<Session>,
    shared: Arc<Shared>,
    backlog: Rc<Backlog>,
}

impl<'a> Answers<'a> {
    /// Creates the sender of responses over `transport`.
    pub(crate) fn new(
        transport: &'a Transport,
        session: Rc<Session>,
        shared: Arc<Shared>,
        backlog: Rc<Backlog>,
    ) -> Self {
        Self { transport, out: Outgoing::default(), session, shared, backlog }
    }

    /// Runs until the reader has ended and everything pending has been executed.
    pub(crate) async fn run(mut self, mut pending: Receiver<Pending>) -> Result<(), Closed> {
        while let Some(first) = pending.recv().await {
            self.answer(first).await?;
            while self.out.queued_bytes() < GATHERED_MAX
                && let Ok(next) = pending.try_recv()
            {
                self.answer(next).await?;
            }
            self.send().await?;
        }
        Ok(())
    }

    async fn answer(&mut self, item: Pending) -> Result<(), Closed> {
        match item.work {
            Work::Produced(mut produced) => {
                let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
                let led = shared.partitions(&session);
                self.out.push_all(produced.answers(led)?.map(Piece::Bytes));
                while !produced.is_answered() {
                    self.send().await?;
                    produced.settle_next(led).await;
                    self.out.push_all(produced.answers(led)?.map(Piece::Bytes));
                }
            }
            Work::Request { mut frame, memory } => {
                self.execute(&mut frame, memory.is_some()).await?;
                self.backlog.request_done();
            }
        }
        Ok(())
    }

    async fn execute(&mut self, frame: &mut [u8], is_large: bool) -> Result<(), Closed> {
        let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
        let limited = is_large.then(|| session.gone.child_token());
        let cancel = limited.as_ref().unwrap_or(&session.gone);
        let mut work = pin!(execute(frame, &shared, &session, cancel));
        // Send the responses that are ready before waiting for the next one.
        let answer = tokio::select! {
            biased;
            answer = &mut work => answer,
            () = std::future::ready(()) => {
                self.send().await?;
                if is_large {
                    // A large request holds memory that other requests may need, so bound the time
                    // that it waits.
                    wait_at_most(work, shared.config().transfer_deadline, cancel).await
                } else {
                    work.await
                }
            }
        };
        self.out.push_all(answer?);
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Closed> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.backlog.set_sending(true);
        let sent = self.write_out().await;
        self.backlog.set_sending(false);
        sent
    }

    async fn write_out(&mut self) -> Result<(), Closed> {
        let stall_max = self.shared.config().transfer_deadline;
        let failure = loop {
            match self.out.write_to(self.transport, stall_max).await {
                Ok(Written::All) => return Ok(()),
                Ok(Written::UntilCold(range)) => match self.shared.load(range).await {
                    Ok(bytes) => self.out.supply(bytes),
                    // The length of the frame has been sent already, so an error code is no longer
                    // possible.
                    Err(error) => break error,
                },
                Err(error) => break error,
            }
        };
        if self.session.gone.is_cancelled() {
            // The peer is gone, but its pending requests are still executed.
            self.out = Outgoing::default();
            return Ok(());
        }
        Err(failure.into())
    }
}

/// Waits for `work`. After `limit`, `cancel` tells `work` to stop waiting and to complete.
async fn wait_at_most<T>(
    mut work: Pin<&mut impl Future<Output = T>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> T {
    if let Ok(done) = timeout(limit, &mut work).await {
        return done;
    }
    cancel.cancel();
    work.await
}
