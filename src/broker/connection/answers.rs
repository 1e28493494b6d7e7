//! The second half of a connection: executes what is pending, in order, and sends the answers.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;

use super::produced::Produced;
use super::reader::Closed;
use crate::broker::context::{Session, Shared};
use crate::broker::dispatch::execute;
use crate::net::{Outgoing, Piece, Reserved, Written};

/// Answers gathered before they are sent, in bytes; more would only delay the first.
const GATHERED_MAX: u64 = 256 * 1024;

/// What a connection owes its peer, in the order of the requests.
#[derive(Debug)]
pub(crate) enum Pending {
    /// A produce request that was appended as it came.
    Produced(Produced),
    /// Any other request, executed when its turn comes.
    Request {
        /// The frame, without its length.
        frame: BytesMut,
        /// Its share of the memory for large requests.
        _memory: Option<Reserved>,
    },
}

/// Sends the answers of one connection.
pub(crate) struct Answers<'a> {
    stream: &'a TcpStream,
    out: Outgoing,
    session: Rc<Session>,
    shared: Arc<Shared>,
}

impl<'a> Answers<'a> {
    /// Answers over `stream`.
    pub(crate) fn new(stream: &'a TcpStream, session: Rc<Session>, shared: Arc<Shared>) -> Self {
        Self { stream, out: Outgoing::default(), session, shared }
    }

    /// Works until the reader has ended and everything taken is executed. `sequential` counts the
    /// pending requests that forbid running ahead.
    pub(crate) async fn run(
        mut self,
        mut pending: Receiver<Pending>,
        sequential: &Cell<usize>,
    ) -> Result<(), Closed> {
        while let Some(first) = pending.recv().await {
            self.answer(first, sequential).await?;
            while self.out.queued_bytes() < GATHERED_MAX
                && let Ok(next) = pending.try_recv()
            {
                self.answer(next, sequential).await?;
            }
            self.send().await?;
        }
        Ok(())
    }

    async fn answer(&mut self, item: Pending, sequential: &Cell<usize>) -> Result<(), Closed> {
        match item {
            Pending::Produced(mut produced) => {
                if !produced.is_settled() {
                    self.send().await?;
                    produced.settle(&self.shared, &self.session).await;
                }
                self.out.push_all(produced.into_answer()?.map(Piece::Bytes));
            }
            Pending::Request { frame, .. } => {
                let (shared, session) = (Arc::clone(&self.shared), Rc::clone(&self.session));
                let mut work = pin!(execute(frame, &shared, &session));
                // Answers that are ready do not wait for one that is not.
                let answer = tokio::select! {
                    biased;
                    answer = &mut work => answer,
                    () = std::future::ready(()) => {
                        self.send().await?;
                        work.await
                    }
                };
                self.out.push_all(answer?);
                sequential.set(sequential.get() - 1);
            }
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Closed> {
        if self.out.is_empty() {
            return Ok(());
        }
        let stall_max = self.shared.config.transfer_deadline;
        let failure = loop {
            match self.out.write_to(self.stream, stall_max).await {
                Ok(Written::All) => return Ok(()),
                Ok(Written::UntilCold(range)) => self.shared.control.warm(range).await,
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
