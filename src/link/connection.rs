//! A connection to a broker: requests are sent in the order of submission, and responses arrive in
//! the same order.
//!
//! Submitting never blocks, so the submitter decides the order, and also how many requests may be
//! in flight. A connection that failed, or whose broker was too slow, is over: every pending
//! request fails with the reason, and the caller opens a new connection if it needs one.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::fault::{LinkError, LinkFault};
use super::tasks::Tasks;
use super::versions::Versions;
use crate::config::HostPort;
use crate::net::{
    Carrier, FRAME_PREFIX, FrameBuffer, Network, Outgoing, Piece, Transport, frame_size,
};
use crate::wire::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, EncodedFrame, ErrorCode, Message,
    Piece as FramePiece, decode_response, encode_request,
};

/// The largest frame accepted; a larger announced length counts as corruption.
const FRAME_MAX: usize = 256 << 20;

/// The `ApiVersions` version sent first.
const FIRST_ASKED: i16 = 4;

/// The settings of connections to brokers.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The client id, by which brokers name this side in their logs.
    pub client_id: String,
    /// The time limit of one attempt to connect.
    pub connect_timeout: Duration,
    /// The time a request may wait while no bytes arrive on its connection.
    pub request_timeout: Duration,
    /// The pause after the first failed attempt; it doubles with each further one.
    pub backoff: Duration,
    /// The upper bound of that pause, apart from a jitter of at most 20 percent.
    pub backoff_max: Duration,
    /// The highest version of an API to use, even if both sides support a higher one.
    pub version_max: fn(ApiKey) -> i16,
    /// The network that replaces the system's, if one does.
    pub network: Option<Arc<dyn Network>>,
}

/// An observer of connections. Each method does nothing unless the observer implements it. Methods
/// must not block: they run on the connections' runtime, and some of them under a connection's
/// lock.
pub trait Observer: Debug + Send + Sync {
    /// A connection was opened.
    fn opened(&self, _address: &HostPort) {}

    /// An attempt to connect failed.
    fn refused(&self, _error: &LinkError) {}

    /// An open connection ended.
    fn ended(&self, _reason: &LinkError) {}

    /// A request of this many bytes was submitted.
    fn sent(&self, _bytes: usize) {}

    /// This many bytes of responses arrived.
    fn received(&self, _bytes: usize) {}
}

/// An open connection. Dropping it closes it.
#[derive(Debug)]
pub struct Connection {
    pipeline: Arc<Pipeline>,
    versions: Versions,
    version_max: fn(ApiKey) -> i16,
    _closes: DropGuard,
}

/// State shared by the users of a connection and its task.
#[derive(Debug)]
struct Pipeline {
    address: HostPort,
    client_id: String,
    request_timeout: Duration,
    observer: Arc<dyn Observer>,
    state: Mutex<State>,
    /// Counts reads that returned bytes, so that a wait can tell a slow response from none.
    arrivals: AtomicU64,
    work: Notify,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    unsent: Vec<Piece>,
    /// The senders to notify once everything that was queued up to their request has been written.
    unwritten: Vec<oneshot::Sender<Result<Bytes, LinkError>>>,
    unanswered: VecDeque<Waiting>,
    next_correlation_id: i32,
    /// True while the observer counts this connection as open.
    is_counted: bool,
    over: Option<LinkError>,
}

#[derive(Debug)]
struct Waiting {
    correlation_id: i32,
    answer: oneshot::Sender<Result<Bytes, LinkError>>,
}

/// The event that completes a request for its submitter.
#[derive(Debug)]
enum Completion {
    Answer(oneshot::Sender<Result<Bytes, LinkError>>),
    Written(oneshot::Sender<Result<Bytes, LinkError>>),
}

/// A request without a response, being written.
#[derive(Debug)]
pub struct PendingWrite {
    pipeline: Arc<Pipeline>,
    written: oneshot::Receiver<Result<Bytes, LinkError>>,
}

/// A pending response.
#[derive(Debug)]
pub struct Reply<R> {
    version: i16,
    pipeline: Arc<Pipeline>,
    frame: oneshot::Receiver<Result<Bytes, LinkError>>,
    request: PhantomData<fn() -> R>,
}

impl Connection {
    /// Connects and negotiates API versions.
    pub(super) async fn open(
        address: &HostPort,
        config: &LinkConfig,
        tasks: &Tasks,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, LinkError> {
        let carrying = config.network.clone().filter(|network| network.carrier().is_some());
        let transport = match &carrying {
            Some(_) => None,
            None => Some(connect(address, config).await.map_err(|fault| fault.of(address))?),
        };
        let pipeline = Arc::new(Pipeline {
            address: address.clone(),
            client_id: config.client_id.clone(),
            request_timeout: config.request_timeout,
            observer: Arc::clone(observer),
            state: Mutex::default(),
            arrivals: AtomicU64::new(0),
            work: Notify::new(),
            closing: tasks.token(),
        });
        tasks.start(Arc::clone(&pipeline).serve(transport, carrying));
        let closes = pipeline.closing.clone().drop_guard();
        let versions = pipeline.agree().await?;
        pipeline.count()?;
        Ok(Self { pipeline, versions, version_max: config.version_max, _closes: closes })
    }

    /// Returns true while no failure is known.
    pub fn is_open(&self) -> bool {
        self.pipeline.state().over.is_none()
    }

    /// Sends a request after those already submitted.
    pub fn submit<R: Message>(&self, request: &R) -> Result<Reply<R>, LinkError> {
        self.submit_with(self.version_of::<R>(i16::MAX)?, request, &[])
    }

    /// Sends a request in a version returned by [`version_of`](Self::version_of), with its records
    /// taken from `records`.
    pub fn submit_with<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
    ) -> Result<Reply<R>, LinkError> {
        let (answer, frame) = oneshot::channel();
        self.pipeline.send(version, request, records, Completion::Answer(answer))?;
        Ok(Reply { version, pipeline: Arc::clone(&self.pipeline), frame, request: PhantomData })
    }

    /// Sends a request that has no response. The connection must live until it is written.
    pub fn submit_unanswered<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
    ) -> Result<PendingWrite, LinkError> {
        let (completion, written) = oneshot::channel();
        self.pipeline.send(version, request, records, Completion::Written(completion))?;
        Ok(PendingWrite { pipeline: Arc::clone(&self.pipeline), written })
    }

    /// The version of `R` to use: the highest that both sides support, up to `highest` and to the
    /// connector's own limit.
    pub fn version_of<R: Message>(&self, highest: i16) -> Result<i16, LinkError> {
        let highest = highest.min((self.version_max)(R::KEY));
        self.versions.pick::<R>(highest).map_err(|fault| fault.of(&self.pipeline.address))
    }
}

impl PendingWrite {
    /// Waits until the operating system has accepted all bytes.
    pub async fn written(self) -> Result<(), LinkError> {
        let limit = self.pipeline.request_timeout;
        self.pipeline.await_frame(self.written, limit).await.map(drop)
    }
}

impl<R: Message> Reply<R> {
    /// Waits for the response. If no bytes arrive for the request timeout the connection is over:
    /// responses come in order, so later ones cannot arrive either.
    pub async fn answer(self) -> Result<R::Response, LinkError> {
        let limit = self.pipeline.request_timeout;
        self.answer_within(limit).await
    }

    /// [`answer`](Self::answer) with another limit, for requests that a broker may hold for longer.
    pub async fn answer_within(self, limit: Duration) -> Result<R::Response, LinkError> {
        let frame = self.pipeline.await_frame(self.frame, limit).await?;
        match decode_response::<R>(&frame, self.version) {
            Ok((_, response)) => Ok(response),
            Err(error) => {
                let fault = LinkFault::UnreadableResponse { api: R::KEY.name(), error };
                Err(self.pipeline.end(fault))
            }
        }
    }
}

impl Pipeline {
    /// Counts the connection as open, unless it is over already.
    fn count(&self) -> Result<(), LinkError> {
        let mut state = self.state();
        if let Some(error) = &state.over {
            return Err(error.clone());
        }
        state.is_counted = true;
        // Report this under the lock, so that `end` cannot report the connection ended before it is
        // reported opened.
        self.observer.opened(&self.address);
        Ok(())
    }

    /// Negotiates API versions, the first exchange of every connection.
    async fn agree(self: &Arc<Self>) -> Result<Versions, LinkError> {
        let api = ApiVersionsRequest::KEY.name();
        let mut version = FIRST_ASKED;
        let request = ApiVersionsRequest {
            client_software_name: "streamlog".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ApiVersionsRequest::default()
        };
        loop {
            let (answer, frame) = oneshot::channel();
            self.send(version, &request, &[], Completion::Answer(answer))?;
            let frame = self.await_frame(frame, self.request_timeout).await?;
            let (_, response) = ApiVersionsResponse::from_frame(&frame, version)
                .map_err(|error| LinkFault::UnreadableResponse { api, error })
                .map_err(|fault| self.end(fault))?;
            // A broker too old for this version answers with the versions that it supports
            // (KIP-511).
            if response.error_code != ErrorCode::UnsupportedVersion {
                return Ok(Versions::of(&response));
            }
            let lower = Versions::of(&response).pick::<ApiVersionsRequest>(version - 1);
            version = lower.map_err(|fault| fault.of(&self.address))?;
        }
    }

    fn send<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
        completion: Completion,
    ) -> Result<(), LinkError> {
        // The correlation id and the place in the queue are taken under one lock: responses are
        // matched by order.
        let mut state = self.state();
        if let Some(error) = &state.over {
            return Err(error.clone());
        }
        let correlation_id = state.next_correlation_id;
        state.next_correlation_id = correlation_id.wrapping_add(1);
        let frame = encode_request(correlation_id, &self.client_id, version, request)
            .map_err(|error| LinkFault::Unwritable(error).of(&self.address))?;
        self.observer.sent(frame.size());
        state.unsent.extend(pieces(&frame, records));
        match completion {
            Completion::Answer(answer) => {
                state.unanswered.push_back(Waiting { correlation_id, answer });
            }
            Completion::Written(written) => state.unwritten.push(written),
        }
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Waits for a frame. A large response on a slow link may take longer than `limit` as long as
    /// bytes keep arriving.
    async fn await_frame(
        &self,
        mut frame: oneshot::Receiver<Result<Bytes, LinkError>>,
        limit: Duration,
    ) -> Result<Bytes, LinkError> {
        loop {
            let before = self.arrivals.load(Ordering::Relaxed);
            match timeout(limit, &mut frame).await {
                Ok(Ok(frame)) => return frame,
                Ok(Err(_)) => return Err(LinkFault::Closed.of(&self.address)),
                Err(_) if self.arrivals.load(Ordering::Relaxed) != before => {}
                Err(_) => {
                    return Err(self.end(LinkFault::AnswerTimeout(limit)));
                }
            }
        }
    }

    /// Reads and writes until the connection is over.
    async fn serve(
        self: Arc<Self>,
        transport: Option<Transport>,
        carrying: Option<Arc<dyn Network>>,
    ) {
        let work = async {
            if let Some(carrier) = carrying.as_ref().and_then(|network| network.carrier()) {
                return self.exchange(carrier).await;
            }
            let Some(transport) = &transport else { return LinkFault::Closed };
            tokio::select! {
                fault = self.receive(transport) => fault,
                fault = self.transmit(transport) => fault,
            }
        };
        let fault = tokio::select! {
            biased;
            fault = work => fault,
            () = self.closing.cancelled() => LinkFault::Closed,
        };
        self.end(fault);
    }

    /// Exchanges frames without a socket, one at a time.
    async fn exchange(&self, carrier: &dyn Carrier) -> LinkFault {
        loop {
            self.work.notified().await;
            let pieces = std::mem::take(&mut self.state().unsent);
            let bytes = pieces.into_iter().map(|piece| match piece {
                Piece::Bytes(bytes) => bytes,
                Piece::File(_) => unreachable!("requests are in memory"),
            });
            let mut unsent: BytesMut = bytes.flatten().collect();
            while let Some(size) = frame_size(&unsent) {
                let request = unsent.split_to(size).split_off(FRAME_PREFIX).freeze();
                let answer = carrier.exchange(&self.address, request).await;
                let taken = answer.map_err(LinkFault::from).and_then(|it| self.take_in(it));
                if let Err(fault) = taken {
                    return fault;
                }
            }
        }
    }

    async fn transmit(&self, transport: &Transport) -> LinkFault {
        let mut outgoing = Outgoing::default();
        loop {
            self.work.notified().await;
            let written = {
                let mut state = self.state();
                outgoing.push_all(std::mem::take(&mut state.unsent));
                state.unwritten.len()
            };
            if let Err(error) = outgoing.write_to(transport, self.request_timeout).await {
                return error.into();
            }
            // More senders may have been queued behind these meanwhile, or `end` may have taken
            // them all.
            let mut state = self.state();
            let written = written.min(state.unwritten.len());
            for completion in state.unwritten.drain(..written) {
                // The receiver may have been dropped.
                let _ = completion.send(Ok(Bytes::new()));
            }
        }
    }

    async fn receive(&self, transport: &Transport) -> LinkFault {
        let mut buffer = FrameBuffer::new(FRAME_MAX);
        loop {
            if let Err(error) = transport.readable().await {
                return error.into();
            }
            match buffer.fill(transport) {
                Ok(0) => return LinkFault::ClosedByPeer,
                Ok(count) => {
                    self.arrivals.fetch_add(1, Ordering::Relaxed);
                    self.observer.received(count);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return error.into(),
            }
            loop {
                match buffer.next_frame() {
                    Ok(Some(frame)) => {
                        if let Err(fault) = self.take_in(frame.freeze()) {
                            return fault;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return LinkFault::Frame(Arc::new(error)),
                }
            }
        }
    }

    fn take_in(&self, frame: Bytes) -> Result<(), LinkFault> {
        let correlation_id = frame.first_chunk().copied().map(i32::from_be_bytes);
        let is_answered = |waiting: &mut Waiting| Some(waiting.correlation_id) == correlation_id;
        // A request without a matching response stays pending, and fails with the reason of all
        // others.
        let waiting = self.state().unanswered.pop_front_if(is_answered);
        let waiting = waiting.ok_or(LinkFault::UnexpectedResponse)?;
        // The receiver may have been dropped.
        let _ = waiting.answer.send(Ok(frame));
        Ok(())
    }

    /// Ends the connection, once, and fails all pending requests. Returns the first reason.
    fn end(&self, fault: LinkFault) -> LinkError {
        let mut state = self.state();
        let reason = state.over.get_or_insert_with(|| fault.of(&self.address)).clone();
        let unanswered = std::mem::take(&mut state.unanswered);
        let unwritten = std::mem::take(&mut state.unwritten);
        state.unsent.clear();
        let was_counted = std::mem::take(&mut state.is_counted);
        drop(state);
        if was_counted {
            self.observer.ended(&reason);
        }
        self.closing.cancel();
        let answers = unanswered.into_iter().map(|waiting| waiting.answer);
        for completion in answers.chain(unwritten) {
            // The receiver may have been dropped.
            let _ = completion.send(Err(reason.clone()));
        }
        reason
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(address: &HostPort, config: &LinkConfig) -> Result<Transport, LinkFault> {
    let connecting = async {
        match &config.network {
            None => Transport::connect(address).await,
            Some(network) => Transport::connect_through(&**network, address).await,
        }
    };
    match timeout(config.connect_timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| LinkFault::Unconnected(Arc::new(error))),
        Err(_) => Err(LinkFault::ConnectTimeout),
    }
}

/// The pieces of a frame in the order they are sent, with the records in their places.
fn pieces(frame: &EncodedFrame, records: &[Bytes]) -> Vec<Piece> {
    let fill = |piece| match piece {
        FramePiece::Bytes(bytes) => Piece::Bytes(bytes),
        FramePiece::Records(ordinal) => Piece::Bytes(records[ordinal].clone()),
    };
    frame.pieces().into_iter().map(fill).collect()
}
