//! The second half of a connection: executes what is pending, in order, and sends the answers.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::backlog::Backlog;
use super::closed::Closed;
use crate::broker::context::{Session, Shared};
use crate::broker::dispatch::execute;
use crate::broker::produce::Produced;
use crate::net::{Outgoing, Piece, Reserved, Written};

/// Answers gathered before they are sent, in bytes; more would only delay the first.
const GATHERED_MAX: u64 = 256 * 1024;

/// What a connection owes its peer, in the order of the requests.
#[derive(Debug)]
pub(crate) struct Pending {
    /// What it is.
    pub(crate) work: Work,
    /// The places it takes among all that may be pending.
    pub(crate) _room: OwnedSemaphorePermit,
}

/// One or more requests that are not answered yet.
#[derive(Debug)]
pub(crate) enum Work {
    /// Produce requests that were appended as they came.
    Produced(Produced),
    /// Any other request, executed when its turn comes.
    Request {
        /// The frame, without its length.
        frame: BytesMut,
        /// Its share of the memory for large requests, if it is one.
        memory: Option<Reserved>,
    },
}

/// Sends the answers of one connection.
pub(crate) struct Answers<'a> {
    stream: &'a TcpStream,
    out: Outgoing,
    session: Rc<Session>,
    shared: Arc<Shared>,
    backlog: Rc<Backlog>,
}

impl<'a> Answers<'a> {
    /// Answers over `stream`.
    pub(crate) fn new(
        stream: &'a TcpStream,
        session: Rc<Session>,
        shared: Arc<Shared>,
        backlog: Rc<Backlog>,
    ) -> Self {
        Self { stream, out: Outgoing::default(), session, shared, backlog }
    }

    /// Works until the reader has ended and everything taken is executed.
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
                self.out.push_all(produced.answers()?.map(Piece::Bytes));
                while !produced.is_answered() {
                    self.send().await?;
                    produced.settle_next(&self.shared, &self.session).await;
                    self.out.push_all(produced.answers()?.map(Piece::Bytes));
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
        let patience = limited.as_ref().unwrap_or(&session.gone);
        let mut work = pin!(execute(frame, &shared, &session, patience));
        // Answers that are ready do not wait for one that is not.
        let answer = tokio::select! {
            biased;
            answer = &mut work => answer,
            () = std::future::ready(()) => {
                self.send().await?;
                if is_large {
                    // Others may need its memory.
                    hurried(work, shared.config.transfer_deadline, patience).await
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
        let stall_max = self.shared.config.transfer_deadline;
        let failure = loop {
            match self.out.write_to(self.stream, stall_max).await {
                Ok(Written::All) => return Ok(()),
                Ok(Written::UntilCold(range)) => match self.shared.engine.control.load(range).await
                {
                    Ok(bytes) => self.out.supply(bytes),
                    // The length is out already, and the bytes are no more what they were.
                    Err(error) => break error,
                },
                Err(error) => break error,
            }
        };
        if self.session.gone.is_cancelled() {
            // Nobody listens any more; what is pending is still executed.
            self.out = Outgoing::default();
            return Ok(());
        }
        Err(failure.into())
    }
}

/// Waits for work that is to wait for others for so long at most.
async fn hurried<T>(
    mut work: Pin<&mut impl Future<Output = T>>,
    limit: Duration,
    patience: &CancellationToken,
) -> T {
    if let Ok(done) = timeout(limit, &mut work).await {
        return done;
    }
    patience.cancel();
    work.await
}
