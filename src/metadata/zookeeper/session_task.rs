//! The task that keeps a session: it owns the connection, and opens another when it breaks.
//!
//! Requests are sent and answered in order. When the connection breaks, the outcome of the writes
//! under way is unknown. On the next connection, watches are set again, and a `sync` is awaited
//! before any other request. After it, each of those writes is visible if the servers had accepted
//! it. None of them takes effect later: once a session has moved to another connection, servers
//! refuse its requests on the old connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::sync::oneshot::Sender;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::metadata::store::{Event, SessionError};
use crate::metadata::zookeeper::calls::{ReplyHeader, Request, code, decode_event, op, xid};
use crate::metadata::zookeeper::connection::{Connection, ConnectionError, SessionIdentity};
use crate::metadata::zookeeper::ensemble::{Ensemble, Reached};
use crate::metadata::zookeeper::jute::Garbled;
use crate::metadata::zookeeper::session::{Exchange, Reply, SessionState};

/// The pause after no server has answered.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The number of bytes after which requests are sent without looking for more.
const BATCH_BYTES: usize = 64 << 10;

/// A request that was sent and is not answered yet.
#[derive(Debug)]
struct Pending {
    xid: i32,
    /// The moment when it was sent.
    sent: Duration,
    op: i32,
    is_write: bool,
    response: Sender<Result<Reply, SessionError>>,
}

/// The state of the task.
#[derive(Debug)]
pub(super) struct SessionTask {
    state: Arc<SessionState>,
    ensemble: Arc<Ensemble>,
    identity: SessionIdentity,
    exchanges: mpsc::Receiver<Exchange>,
    pending: VecDeque<Pending>,
    /// The index of the server in use.
    server: usize,
    last_xid: i32,
    /// The moment when the ping that is under way was sent.
    ping: Option<Duration>,
}

impl SessionTask {
    pub(super) fn new(
        state: Arc<SessionState>,
        ensemble: Arc<Ensemble>,
        identity: SessionIdentity,
        exchanges: mpsc::Receiver<Exchange>,
    ) -> Self {
        let (pending, ping) = (VecDeque::new(), None);
        Self { state, ensemble, identity, exchanges, pending, server: 0, last_xid: 0, ping }
    }

    /// Keeps the session until it ends.
    pub(super) async fn run(mut self, reached: Reached) {
        let mut connection = reached.connection;
        self.server = reached.server;
        while let Err(error) = self.serve(&mut connection).await {
            self.break_off(&error);
            if matches!(error, ConnectionError::SessionExpired) {
                break;
            }
            let server = &self.ensemble.address.servers[self.server];
            tracing::warn!(%server, %error, "the connection to the metadata store is lost");
            self.state.publish(&Event::SessionLost);
            let Some(next) = self.reconnect().await else { break };
            connection = next;
            self.state.publish(&Event::Resync);
        }
        self.state.end();
        self.exchanges.close();
        self.refuse_waiting(&SessionError::Expired(self.state.id));
    }

    /// Serves requests until the session is closed.
    async fn serve(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        // A server answers a ping at once. So two thirds of the time-out without any message are
        // the sign of a lost connection; the last third is left for finding another server.
        let quiet = self.identity.timeout / 3;
        let (mut sent, mut received) = (Instant::now(), Instant::now());
        let mut frames = Vec::new();
        loop {
            tokio::select! {
                message = connection.receive() => {
                    received = Instant::now();
                    if self.answer(&message?)? {
                        return Ok(());
                    }
                }
                exchange = self.exchanges.recv() => {
                    // The handle is gone, and aborts this task.
                    let Some(exchange) = exchange else { return Ok(()) };
                    self.enqueue(exchange, &mut frames);
                    while frames.len() < BATCH_BYTES
                        && let Ok(exchange) = self.exchanges.try_recv()
                    {
                        self.enqueue(exchange, &mut frames);
                    }
                }
                () = sleep_until((sent + quiet).min(received + 2 * quiet)) => {
                    if received.elapsed() >= 2 * quiet {
                        return Err(ConnectionError::Silent(2 * quiet));
                    }
                    self.ping.get_or_insert(self.ensemble.clock.monotonic());
                    frames.extend(Request::ping().frame(xid::PING));
                }
            }
            if !frames.is_empty() {
                let sending = timeout(quiet, connection.send(&mut frames)).await;
                sending.map_err(|_elapsed| ConnectionError::Silent(quiet))??;
                sent = Instant::now();
            }
        }
    }

    fn enqueue(&mut self, exchange: Exchange, frames: &mut Vec<u8>) {
        let Exchange { request, response } = exchange;
        self.last_xid = self.last_xid.checked_add(1).unwrap_or(1);
        frames.extend(request.frame(self.last_xid));
        self.pending.push_back(Pending {
            xid: self.last_xid,
            sent: self.ensemble.clock.monotonic(),
            op: request.op,
            is_write: request.is_write(),
            response,
        });
    }

    /// Handles a message; returns true if it closes the session.
    fn answer(&mut self, message: &Bytes) -> Result<bool, ConnectionError> {
        let (header, body) = ReplyHeader::split(message)?;
        match header.xid {
            xid::EVENT => {
                if let Some(path) = decode_event(&body)? {
                    let path = self.ensemble.address.own_path(&path);
                    self.state.publish(&Event::Changed(vec![path]));
                }
                return Ok(false);
            }
            xid::PING => {
                if let Some(sent) = self.ping.take() {
                    self.state.hear(sent);
                }
                return Ok(false);
            }
            _ => {}
        }
        let answered = self.pending.pop_front_if(|pending| pending.xid == header.xid);
        let Some(Pending { sent, op, response, .. }) = answered else { return Err(Garbled.into()) };
        let error = match header.error {
            code::SESSION_EXPIRED => Some(ConnectionError::SessionExpired),
            code::SESSION_MOVED => Some(ConnectionError::Refused(header.error)),
            _ => None,
        };
        if let Some(error) = error {
            // The server has not executed the request.
            let _ = response.send(Err(self.unreachable(&error)));
            return Err(error);
        }
        self.identity.last_zxid = self.identity.last_zxid.max(header.zxid);
        self.state.hear(sent);
        // The caller may have gone.
        let _ = response.send(Ok(Reply { error: header.error, body }));
        Ok(op == op::CLOSE_SESSION && header.error == 0)
    }

    /// Connects to any server; `None` if the ensemble has ended the session.
    async fn reconnect(&mut self) -> Option<Connection> {
        let lost = self.ensemble.clock.monotonic();
        loop {
            let mut requests: Vec<_> =
                self.state.watched().iter().map(|path| Request::add_watch(path)).collect();
            requests.push(Request::sync());
            let next = self.server + 1;
            match self.ensemble.reach(&mut self.identity, next, &requests).await {
                Ok(Reached { connection, server, heard }) => {
                    tracing::info!(
                        server = %self.ensemble.address.servers[server],
                        "connected to the metadata store again"
                    );
                    self.server = server;
                    self.state.hear(heard);
                    self.state.grant(self.identity.timeout);
                    return Some(connection);
                }
                Err(ConnectionError::SessionExpired) => return None,
                Err(error) => {
                    let away = self.ensemble.clock.monotonic().saturating_sub(lost);
                    if away >= self.identity.timeout / 2 {
                        let unreachable = self.unreachable(&error);
                        self.refuse_waiting(&unreachable);
                    }
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Tells the callers of all requests under way that no answer will come.
    fn break_off(&mut self, error: &ConnectionError) {
        self.ping = None;
        let unreachable = self.unreachable(error);
        for Pending { is_write, response, .. } in self.pending.drain(..) {
            let error = if is_write { SessionError::OutcomeUnknown } else { unreachable.clone() };
            let _ = response.send(Err(error));
        }
    }

    /// Refuses the requests that have not been sent.
    fn refuse_waiting(&mut self, error: &SessionError) {
        while let Ok(exchange) = self.exchanges.try_recv() {
            let _ = exchange.response.send(Err(error.clone()));
        }
    }

    fn unreachable(&self, error: &ConnectionError) -> SessionError {
        let servers = self.ensemble.address.to_string();
        SessionError::Unreachable { servers, reason: error.to_string() }
    }
}
