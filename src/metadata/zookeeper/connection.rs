//! A connection to one server: frames in both directions, and the handshake of a session.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::metadata::zookeeper::calls::{ReplyHeader, Request, code, xid};
use crate::metadata::zookeeper::jute::{Decoder, Encoder, Garbled};

/// The maximum size of a message from a server. A larger length counts as a violation of the
/// protocol.
const MESSAGE_MAX: usize = 64 << 20;
const PASSWORD_LENGTH: usize = 16;

/// The reason why a connection cannot be used, or can no longer be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    /// The server cannot be reached, or closed the connection.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server broke the protocol.
    #[error("{0}")]
    Garbled(#[from] Garbled),
    /// The server sent nothing in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// The ensemble does not know the session any more.
    #[error("the session has expired")]
    SessionExpired,
    /// The server does not accept the credentials.
    #[error("the server does not accept the user of zookeeper.digest.file")]
    AuthFailed,
    /// The server refused to set a session up, with this code.
    #[error("the server refused the session with error {0}")]
    Refused(i32),
}

impl ConnectionError {
    /// True if no other server will answer differently.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::SessionExpired | Self::AuthFailed)
    }
}

/// The identity by which servers know a session; all zero for a session that is to be created.
#[derive(Clone, Debug)]
pub(super) struct SessionIdentity {
    pub(super) id: i64,
    pub(super) password: Vec<u8>,
    pub(super) timeout: Duration,
    /// The last transaction that the session has seen; servers that are behind refuse it.
    pub(super) last_zxid: i64,
}

impl SessionIdentity {
    /// The identity with which a new session is requested.
    pub(super) fn new(timeout: Duration) -> Self {
        Self { id: 0, password: vec![0; PASSWORD_LENGTH], timeout, last_zxid: 0 }
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    received: BytesMut,
}

impl Connection {
    /// Connects to a server, and resumes the session or creates a new one.
    pub(super) async fn open(
        server: &str,
        identity: &mut SessionIdentity,
    ) -> Result<Self, ConnectionError> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let mut connection = Self { stream, received: BytesMut::new() };
        let timeout = i32::try_from(identity.timeout.as_millis()).unwrap_or(i32::MAX);
        let mut encoder = Encoder::default();
        encoder.int(0).long(identity.last_zxid).int(timeout).long(identity.id);
        let body = encoder.buffer(&identity.password).boolean(false).finish();
        let mut frame = Encoder::default().buffer(&body).finish();
        connection.send(&mut frame).await?;

        let message = connection.receive().await?;
        let mut decoder = Decoder::new(&message);
        let (_protocol, timeout, id) = (decoder.int()?, decoder.int()?, decoder.long()?);
        let password = decoder.buffer()?;
        let Some(timeout) = u64::try_from(timeout).ok().filter(|timeout| *timeout > 0) else {
            return Err(ConnectionError::SessionExpired);
        };
        identity.timeout = Duration::from_millis(timeout);
        identity.id = id;
        password.clone_into(&mut identity.password);
        Ok(connection)
    }

    /// Sends requests that must all succeed before the session is used, and awaits the answers.
    /// Events that arrive meanwhile are dropped: everything is read again afterwards.
    pub(super) async fn prepare(
        &mut self,
        requests: Vec<(i32, Request)>,
        identity: &mut SessionIdentity,
    ) -> Result<(), ConnectionError> {
        let mut frames: Vec<u8> =
            requests.iter().flat_map(|(xid, request)| request.frame(*xid)).collect();
        self.send(&mut frames).await?;
        let mut unanswered = requests.len();
        while unanswered > 0 {
            let (header, _) = ReplyHeader::split(&self.receive().await?)?;
            if header.xid == xid::EVENT {
                continue;
            }
            unanswered -= 1;
            identity.last_zxid = identity.last_zxid.max(header.zxid);
            match header.error {
                0 => {}
                code::SESSION_EXPIRED => return Err(ConnectionError::SessionExpired),
                code::AUTH_FAILED => return Err(ConnectionError::AuthFailed),
                error => return Err(ConnectionError::Refused(error)),
            }
        }
        Ok(())
    }

    /// Sends frames, and clears them.
    pub(super) async fn send(&mut self, frames: &mut Vec<u8>) -> Result<(), ConnectionError> {
        self.stream.write_all(frames).await?;
        frames.clear();
        Ok(())
    }

    /// The next message. Cancel-safe.
    pub(super) async fn receive(&mut self) -> Result<Bytes, ConnectionError> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(message);
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    fn buffered(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        let Some(length) = self.received.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > MESSAGE_MAX {
            return Err(Garbled.into());
        }
        if self.received.len() < 4 + length {
            return Ok(None);
        }
        self.received.advance(4);
        Ok(Some(self.received.split_to(length).freeze()))
    }
}
