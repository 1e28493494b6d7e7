//! Connections under conditions that a test controls: cut, delayed, or ended with their process.
//!
//! A process whose network is the system's has no such conditions, and pays nothing for them.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{self, Debug};
use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::config::HostPort;

/// Bytes read at once from a delayed connection.
const READ: usize = 64 << 10;
/// Once this many bytes are under way on a delayed connection, further ones stay with the system.
const UNDER_WAY_MAX: usize = 4 << 20;

/// A network in which a test can cut and delay connections.
pub trait Network: Debug + Send + Sync {
    /// The conditions of a connection that is about to be opened, from `local` to `peer`.
    fn opening(&self, local: SocketAddr, peer: SocketAddr) -> Conditions;

    /// The conditions of a connection that `peer` has opened.
    fn accepted(&self, peer: SocketAddr) -> Conditions;

    /// What carries frames in place of sockets, if something does.
    fn carrier(&self) -> Option<&dyn Carrier> {
        None
    }
}

/// Carries frames between brokers without sockets, in a simulation.
pub trait Carrier: Send + Sync {
    /// Brings a request to a peer, and its response back; both are frames without their lengths.
    fn exchange(&self, peer: &HostPort, request: Bytes) -> Exchange;
}

/// A response on its way.
pub type Exchange = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>;

/// The state of one direction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// True if no bytes arrive. They are not lost: TCP would send them again.
    pub is_cut: bool,
    /// The time for which bytes are under way.
    pub delay: Duration,
}

/// The conditions of a connection, which may change while it is open.
pub struct Conditions {
    /// The direction in which this end reads.
    incoming: watch::Receiver<Flow>,
    /// The direction in which this end writes. Its delay is the peer's concern.
    outgoing: watch::Receiver<Flow>,
    /// Cancelled when the process at this end has ended: it neither reads nor writes any more.
    ended: CancellationToken,
    /// Dropped with the connection.
    _registration: Option<Box<dyn Any + Send + Sync>>,
}

impl Conditions {
    /// The conditions of a connection with these directions, at an end that exists until `ended`.
    pub fn new(
        incoming: watch::Receiver<Flow>,
        outgoing: watch::Receiver<Flow>,
        ended: CancellationToken,
    ) -> Self {
        Self { incoming, outgoing, ended, _registration: None }
    }

    /// The same conditions, which keep `registration` until the connection is closed.
    #[must_use]
    pub fn with(self, registration: impl Any + Send + Sync) -> Self {
        Self { _registration: Some(Box::new(registration)), ..self }
    }
}

impl Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { incoming, outgoing, .. } = self;
        f.debug_struct("Conditions")
            .field("incoming", incoming)
            .field("outgoing", outgoing)
            .finish()
    }
}

/// The conditions of an open connection, and the bytes that are under way to this end.
#[derive(Debug)]
pub(super) struct Conditioned {
    conditions: Conditions,
    under_way: Mutex<UnderWay>,
}

/// Bytes that the system has received and this end has not.
#[derive(Debug, Default)]
struct UnderWay {
    /// Each with the time at which it arrives; an empty one is the end of the stream.
    parts: VecDeque<(Instant, Bytes)>,
    length: usize,
    has_ended: bool,
}

impl Conditioned {
    pub(super) fn new(conditions: Conditions) -> Self {
        Self { conditions, under_way: Mutex::default() }
    }

    /// Waits until [`try_read`](Self::try_read) may return something.
    pub(super) async fn readable(&self, stream: &TcpStream) -> io::Result<()> {
        let mut incoming = self.conditions.incoming.clone();
        loop {
            let Flow { is_cut, delay } = *incoming.borrow_and_update();
            let (due, has_room) = {
                let under_way = self.under_way();
                (under_way.parts.front().map(|(due, _)| *due), under_way.has_room())
            };
            if self.conditions.ended.is_cancelled() {
                return Ok(());
            }
            let falls_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = self.conditions.ended.cancelled() => return Ok(()),
                changed = incoming.changed() => changed.map_err(io::Error::other)?,
                () = falls_due, if !is_cut => return Ok(()),
                arrived = stream.readable(), if !is_cut && has_room => {
                    arrived?;
                    if delay.is_zero() && due.is_none() {
                        return Ok(());
                    }
                    self.under_way().take_in(stream, delay)?;
                }
            }
        }
    }

    /// Reads bytes that have arrived, as [`Transport::try_read`](super::Transport::try_read).
    pub(super) fn try_read(
        &self,
        stream: &TcpStream,
        buffer: &mut impl BufMut,
    ) -> io::Result<usize> {
        let flow = self.pass(&self.conditions.incoming)?;
        let mut under_way = self.under_way();
        if under_way.parts.is_empty() && !under_way.has_ended && flow.delay.is_zero() {
            return stream.try_read_buf(buffer);
        }
        under_way.hand_out(buffer)
    }

    /// Waits until the peer has ended its stream, as far as this end can know.
    pub(super) async fn ended_by_peer(&self, stream: &TcpStream) -> io::Result<()> {
        self.wait(&self.conditions.incoming, || stream.ready(Interest::PRIORITY)).await.map(drop)
    }

    /// Waits until bytes can be written, or [`check_write`](Self::check_write) fails.
    pub(super) async fn writable(&self, stream: &TcpStream) -> io::Result<()> {
        self.wait(&self.conditions.outgoing, || stream.writable()).await.map(drop)
    }

    /// Returns an error unless bytes can be sent.
    pub(super) fn check_write(&self) -> io::Result<()> {
        self.pass(&self.conditions.outgoing).map(drop)
    }

    /// Waits for an event of the system while the direction is not cut; `None` if this end has
    /// ended.
    async fn wait<T, F: Future<Output = io::Result<T>>>(
        &self,
        direction: &watch::Receiver<Flow>,
        event: impl Fn() -> F,
    ) -> io::Result<Option<T>> {
        let mut direction = direction.clone();
        loop {
            let is_cut = direction.borrow_and_update().is_cut;
            tokio::select! {
                () = self.conditions.ended.cancelled() => return Ok(None),
                changed = direction.changed() => changed.map_err(io::Error::other)?,
                happened = event(), if !is_cut => return happened.map(Some),
            }
        }
    }

    /// The state of a direction, unless nothing passes.
    fn pass(&self, direction: &watch::Receiver<Flow>) -> io::Result<Flow> {
        if self.conditions.ended.is_cancelled() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let flow = *direction.borrow();
        if flow.is_cut { Err(ErrorKind::WouldBlock.into()) } else { Ok(flow) }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn has_room(&self) -> bool {
        !self.has_ended && self.length < UNDER_WAY_MAX
    }

    /// Takes the bytes that the system has received; they arrive after `delay`.
    fn take_in(&mut self, stream: &TcpStream, delay: Duration) -> io::Result<()> {
        let mut bytes = BytesMut::with_capacity(READ);
        match stream.try_read_buf(&mut bytes) {
            Ok(count) => {
                self.has_ended = count == 0;
                self.length += count;
                self.parts.push_back((Instant::now() + delay, bytes.freeze()));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hands out bytes that have arrived, as a read of a socket does.
    fn hand_out(&mut self, buffer: &mut impl BufMut) -> io::Result<usize> {
        let Some((due, bytes)) = self.parts.front_mut() else {
            return if self.has_ended { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        };
        if *due > Instant::now() {
            return Err(ErrorKind::WouldBlock.into());
        }
        // As a read does, without making more room: a caller counts its memory before.
        let count = bytes.len().min(buffer.chunk_mut().len());
        buffer.put(bytes.split_to(count));
        self.length -= count;
        if !bytes.has_remaining() {
            self.parts.pop_front();
        }
        Ok(count)
    }
}
