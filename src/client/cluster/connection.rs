//! A connection to a broker: requests are sent in the order of submission, and responses arrive in
//! the same order.
//!
//! Submitting never blocks, so the submitter decides the order, and also how many requests may be
//! in flight. A connection that failed, or whose broker was too slow, is over: every pending
//! request fails with the reason, and the caller opens a new connection if it needs one.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::background::Tasks;
use crate::client::cluster::Monitor;
use crate::client::cluster::versions::Versions;
use crate::client::{ClientConfig, ClientError};
use crate::config::HostPort;
use crate::net::{FrameBuffer, Outgoing, Piece};
use crate::wire::{
    ApiVersionsRequest, ApiVersionsResponse, EncodedFrame, ErrorCode, Message, Piece as FramePiece,
    decode_response, encode_request,
};

/// The largest frame accepted; a longer length field is taken for corruption.
const FRAME_MAX: usize = 256 << 20;

/// The `ApiVersions` version sent first.
const FIRST_ASKED: i16 = 4;

/// An open connection. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    pipeline: Arc<Pipeline>,
    versions: Versions,
    _closes: DropGuard,
}

/// State shared by the users of a connection and its task.
#[derive(Debug)]
struct Pipeline {
    address: HostPort,
    client_id: String,
    answer_max: Duration,
    monitor: Arc<Monitor>,
    state: Mutex<State>,
    /// Counts reads that returned bytes, so that a wait can tell a slow response from none.
    arrivals: AtomicU64,
    work: Notify,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    unsent: Vec<Piece>,
    /// Senders to notify when everything queued, or being written, has been written.
    unwritten: Vec<oneshot::Sender<Result<Bytes, ClientError>>>,
    unanswered: VecDeque<Waiting>,
    next_correlation_id: i32,
    /// True while the monitor counts this connection as open.
    is_counted: bool,
    over: Option<ClientError>,
}

#[derive(Debug)]
struct Waiting {
    correlation_id: i32,
    answer: oneshot::Sender<Result<Bytes, ClientError>>,
}

/// The event that completes a request for its submitter.
#[derive(Debug)]
enum Completion {
    Answer(oneshot::Sender<Result<Bytes, ClientError>>),
    Written(oneshot::Sender<Result<Bytes, ClientError>>),
}

/// A request without a response, being written.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    pipeline: Arc<Pipeline>,
    written: oneshot::Receiver<Result<Bytes, ClientError>>,
}

/// A pending response.
#[derive(Debug)]
pub(crate) struct Reply<R> {
    version: i16,
    pipeline: Arc<Pipeline>,
    frame: oneshot::Receiver<Result<Bytes, ClientError>>,
    request: PhantomData<fn() -> R>,
}

impl Connection {
    /// Connects and negotiates API versions.
    pub(crate) async fn open(
        address: &HostPort,
        config: &ClientConfig,
        tasks: &Tasks,
        monitor: &Arc<Monitor>,
    ) -> Result<Self, ClientError> {
        let opened = Self::connect(address, config, tasks, monitor).await;
        opened.inspect_err(|error| monitor.refused(address, error))
    }

    async fn connect(
        address: &HostPort,
        config: &ClientConfig,
        tasks: &Tasks,
        monitor: &Arc<Monitor>,
    ) -> Result<Self, ClientError> {
        let connecting = TcpStream::connect((address.host.as_str(), address.port));
        let stream = match timeout(config.connect_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(ClientError::unreachable(address, error)),
            Err(_) => return Err(ClientError::unreachable(address, "no answer")),
        };
        stream.set_nodelay(true).map_err(|error| ClientError::unreachable(address, error))?;
        let pipeline = Arc::new(Pipeline {
            address: address.clone(),
            client_id: config.client_id.clone(),
            answer_max: config.request_timeout,
            monitor: Arc::clone(monitor),
            state: Mutex::default(),
            arrivals: AtomicU64::new(0),
            work: Notify::new(),
            closing: tasks.token(),
        });
        tasks.start(Arc::clone(&pipeline).serve(stream));
        let closes = pipeline.closing.clone().drop_guard();
        let versions = pipeline.agree().await?;
        pipeline.count()?;
        Ok(Self { pipeline, versions, _closes: closes })
    }

    /// Returns true while no failure is known.
    pub(crate) fn is_open(&self) -> bool {
        self.pipeline.state().over.is_none()
    }

    /// Sends a request after those already submitted.
    pub(crate) fn submit<R: Message>(&self, request: &R) -> Result<Reply<R>, ClientError> {
        self.submit_with(self.version_of::<R>(i16::MAX)?, request, &[])
    }

    /// Sends a request in a version returned by [`version_of`](Self::version_of), with its records
    /// taken from `records`.
    pub(crate) fn submit_with<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
    ) -> Result<Reply<R>, ClientError> {
        let (answer, frame) = oneshot::channel();
        self.pipeline.send(version, request, records, Completion::Answer(answer))?;
        Ok(Reply { version, pipeline: Arc::clone(&self.pipeline), frame, request: PhantomData })
    }

    /// Sends a request that has no response. The connection must live until it is written.
    pub(crate) fn submit_unanswered<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
    ) -> Result<PendingWrite, ClientError> {
        let (completion, written) = oneshot::channel();
        self.pipeline.send(version, request, records, Completion::Written(completion))?;
        Ok(PendingWrite { pipeline: Arc::clone(&self.pipeline), written })
    }

    /// The version of `R` to use: the highest both sides support, up to `highest`.
    pub(crate) fn version_of<R: Message>(&self, highest: i16) -> Result<i16, ClientError> {
        self.versions.pick::<R>(highest)
    }
}

impl PendingWrite {
    /// Waits until the operating system has accepted all bytes.
    pub(crate) async fn written(self) -> Result<(), ClientError> {
        let limit = self.pipeline.answer_max;
        self.pipeline.await_frame(self.written, limit).await.map(drop)
    }
}

impl<R: Message> Reply<R> {
    /// Waits for the response. If no bytes arrive for the request timeout the connection is over:
    /// responses come in order, so later ones cannot arrive either.
    pub(crate) async fn answer(self) -> Result<R::Response, ClientError> {
        let limit = self.pipeline.answer_max;
        self.answer_within(limit).await
    }

    /// [`answer`](Self::answer) with another limit, for requests that a broker may hold for longer.
    pub(crate) async fn answer_within(self, limit: Duration) -> Result<R::Response, ClientError> {
        let frame = self.pipeline.await_frame(self.frame, limit).await?;
        match decode_response::<R>(&frame, self.version) {
            Ok((_, response)) => Ok(response),
            Err(error) => {
                let reason = format!("its answer to {} cannot be read: {error}", R::KEY.name());
                Err(self.pipeline.end(ClientError::unreachable(&self.pipeline.address, reason)))
            }
        }
    }
}

impl Pipeline {
    /// Counts the connection as open, unless it is over already.
    fn count(&self) -> Result<(), ClientError> {
        let mut state = self.state();
        if let Some(error) = &state.over {
            return Err(error.clone());
        }
        state.is_counted = true;
        // Still under the lock, so that `end` cannot report it ended before it is reported opened.
        self.monitor.opened(&self.address);
        Ok(())
    }

    /// Negotiates API versions, the first exchange of every connection.
    async fn agree(self: &Arc<Self>) -> Result<Versions, ClientError> {
        let mut version = FIRST_ASKED;
        let request = ApiVersionsRequest {
            client_software_name: "streamlog".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ApiVersionsRequest::default()
        };
        loop {
            let (answer, frame) = oneshot::channel();
            self.send(version, &request, &[], Completion::Answer(answer))?;
            let frame = self.await_frame(frame, self.answer_max).await?;
            let (_, response) = ApiVersionsResponse::from_frame(&frame, version)
                .map_err(|error| self.end(ClientError::unreachable(&self.address, error)))?;
            // A broker too old for this version answers with the versions that it supports
            // (KIP-511).
            if response.error_code != ErrorCode::UnsupportedVersion {
                return Ok(Versions::of(&response));
            }
            let lower = Versions::of(&response).pick::<ApiVersionsRequest>(version - 1)?;
            version = lower;
        }
    }

    fn send<R: Message>(
        &self,
        version: i16,
        request: &R,
        records: &[Bytes],
        completion: Completion,
    ) -> Result<(), ClientError> {
        // The correlation id and the place in the queue are taken under one lock: responses are
        // matched by order.
        let mut state = self.state();
        if let Some(error) = &state.over {
            return Err(error.clone());
        }
        let correlation_id = state.next_correlation_id;
        state.next_correlation_id = correlation_id.wrapping_add(1);
        let frame = encode_request(correlation_id, &self.client_id, version, request)
            .map_err(|error| ClientError::unreachable(&self.address, error))?;
        self.monitor.sent(frame.size());
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
        mut frame: oneshot::Receiver<Result<Bytes, ClientError>>,
        limit: Duration,
    ) -> Result<Bytes, ClientError> {
        loop {
            let before = self.arrivals.load(Ordering::Relaxed);
            match timeout(limit, &mut frame).await {
                Ok(Ok(frame)) => return frame,
                Ok(Err(_)) => return Err(ClientError::Closed),
                Err(_) if self.arrivals.load(Ordering::Relaxed) != before => {}
                Err(_) => {
                    let reason = format!("no answer within {limit:?}");
                    return Err(self.end(ClientError::unreachable(&self.address, reason)));
                }
            }
        }
    }

    /// Reads and writes until the connection is over.
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let reason = tokio::select! {
            reason = self.receive(&stream) => reason,
            reason = self.transmit(&stream) => reason,
            () = self.closing.cancelled() => ClientError::Closed,
        };
        self.end(reason);
    }

    async fn transmit(&self, stream: &TcpStream) -> ClientError {
        let mut outgoing = Outgoing::default();
        loop {
            self.work.notified().await;
            let written = {
                let mut state = self.state();
                outgoing.push_all(std::mem::take(&mut state.unsent));
                state.unwritten.len()
            };
            if let Err(error) = outgoing.write_to(stream, self.answer_max).await {
                return ClientError::unreachable(&self.address, error);
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

    async fn receive(&self, stream: &TcpStream) -> ClientError {
        let mut buffer = FrameBuffer::new(FRAME_MAX);
        loop {
            if let Err(error) = stream.readable().await {
                return ClientError::unreachable(&self.address, error);
            }
            match buffer.fill(stream) {
                Ok(0) => {
                    return ClientError::unreachable(&self.address, "it closed the connection");
                }
                Ok(count) => {
                    self.arrivals.fetch_add(1, Ordering::Relaxed);
                    self.monitor.received(count);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return ClientError::unreachable(&self.address, error),
            }
            loop {
                match buffer.next_frame() {
                    Ok(Some(frame)) => {
                        if let Err(error) = self.take_in(frame.freeze()) {
                            return error;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return ClientError::unreachable(&self.address, error),
                }
            }
        }
    }

    fn take_in(&self, frame: Bytes) -> Result<(), ClientError> {
        let waiting = self.state().unanswered.pop_front();
        let correlation_id = frame.first_chunk().copied().map(i32::from_be_bytes);
        match waiting {
            Some(waiting) if Some(waiting.correlation_id) == correlation_id => {
                // The receiver may have been dropped.
                let _ = waiting.answer.send(Ok(frame));
                Ok(())
            }
            _ => Err(ClientError::unreachable(
                &self.address,
                "it sent a response that belongs to no request",
            )),
        }
    }

    /// Ends the connection, once, and fails all pending requests. Returns the first reason.
    fn end(&self, reason: ClientError) -> ClientError {
        let mut state = self.state();
        let reason = state.over.get_or_insert(reason).clone();
        let unanswered = std::mem::take(&mut state.unanswered);
        let unwritten = std::mem::take(&mut state.unwritten);
        state.unsent.clear();
        let was_counted = std::mem::take(&mut state.is_counted);
        drop(state);
        if was_counted {
            self.monitor.ended(&reason);
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

/// The pieces of a frame in the order they are sent, with the records in their places.
fn pieces(frame: &EncodedFrame, records: &[Bytes]) -> Vec<Piece> {
    let fill = |piece| match piece {
        FramePiece::Bytes(bytes) => Piece::Bytes(bytes),
        FramePiece::Records(ordinal) => Piece::Bytes(records[ordinal].clone()),
    };
    frame.pieces().into_iter().map(fill).collect()
}
