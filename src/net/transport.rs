//! The transport of a connection, which hides its socket.
//!
//! A direct transport lets the kernel send files (`sendfile`). A copying transport takes only
//! bytes, as is necessary if they are transformed before they are sent: its caller reads files into
//! memory first. Callers see only whether a transport sends files.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use bytes::BufMut;
use tokio::io::Interest;
use tokio::net::{TcpSocket, TcpStream, lookup_host};

use crate::config::HostPort;
use crate::io::{FileRange, send_buffers};
use crate::net::conditions::{Conditioned, Conditions, Network};

/// One end of a connection. Reading and writing go on independently, each by one task.
#[derive(Debug)]
pub struct Transport {
    stream: TcpStream,
    sends_files: bool,
    conditions: Option<Box<Conditioned>>,
}

impl Transport {
    /// Connects to a peer; the transport lets the kernel send files.
    ///
    /// # Errors
    /// Those of resolving the address and of connecting.
    pub async fn connect(address: &HostPort) -> io::Result<Self> {
        Self::of(TcpStream::connect((address.host.as_str(), address.port)).await?)
    }

    /// Connects to a peer through a network in which a test can cut and delay connections.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    pub async fn connect_through(network: &dyn Network, address: &HostPort) -> io::Result<Self> {
        let mut found = lookup_host((address.host.as_str(), address.port)).await?;
        let peer = found.next().ok_or(ErrorKind::NotFound)?;
        let (socket, any) = match peer {
            SocketAddr::V4(_) => (TcpSocket::new_v4()?, IpAddr::from(Ipv4Addr::LOCALHOST)),
            SocketAddr::V6(_) => (TcpSocket::new_v6()?, IpAddr::from(Ipv6Addr::LOCALHOST)),
        };
        // Bind and announce the local address before connecting: the peer looks it up in its
        // network as soon as it has accepted the connection.
        socket.bind(SocketAddr::new(any, 0))?;
        let conditions = network.opening(socket.local_addr()?, peer);
        Ok(Self::of(socket.connect(peer).await?)?.under(conditions))
    }

    /// The same transport, with the cuts and delays of `conditions`.
    #[must_use]
    pub fn under(self, conditions: Conditions) -> Self {
        Self { conditions: Some(Box::new(Conditioned::new(conditions))), ..self }
    }

    /// A transport over a connected, non-blocking socket, which lets the kernel send files.
    ///
    /// # Errors
    /// The error of the system.
    pub fn direct(stream: std::net::TcpStream) -> io::Result<Self> {
        Self::of(TcpStream::from_std(stream)?)
    }

    /// A transport over a connected, non-blocking socket, to which files are passed as bytes.
    ///
    /// # Errors
    /// The error of the system.
    #[cfg(any(test, feature = "internals"))]
    pub fn copying(stream: std::net::TcpStream) -> io::Result<Self> {
        Ok(Self { sends_files: false, ..Self::direct(stream)? })
    }

    fn of(stream: TcpStream) -> io::Result<Self> {
        // Frames are gathered before they are written; Nagle's algorithm would delay the last one.
        stream.set_nodelay(true)?;
        Ok(Self { stream, sends_files: true, conditions: None })
    }

    /// The local address.
    ///
    /// # Errors
    /// The error of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Waits until bytes can be read, or the stream has ended.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn readable(&self) -> io::Result<()> {
        match &self.conditions {
            None => self.stream.readable().await,
            Some(conditions) => conditions.readable(&self.stream).await,
        }
    }

    /// Reads available bytes, at most as many as the buffer takes. Returns 0 at the end of the
    /// stream.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is available; otherwise the error of the socket.
    pub fn try_read(&self, buffer: &mut impl BufMut) -> io::Result<usize> {
        match &self.conditions {
            None => self.stream.try_read_buf(buffer),
            Some(conditions) => conditions.try_read(&self.stream, buffer),
        }
    }

    /// Waits until the peer has ended its stream, even if bytes before the end are still unread.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn ended_by_peer(&self) -> io::Result<()> {
        // tokio ends two kinds of wait at the end of the stream: for readable bytes and for urgent
        // data. Wait for urgent data, which no peer sends: the other wait would end at once while
        // there are unread bytes.
        match &self.conditions {
            None => self.stream.ready(Interest::PRIORITY).await.map(drop),
            Some(conditions) => conditions.ended_by_peer(&self.stream).await,
        }
    }

    /// Waits until bytes can be written.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn writable(&self) -> io::Result<()> {
        match &self.conditions {
            None => self.stream.writable().await,
            Some(conditions) => conditions.writable(&self.stream).await,
        }
    }

    /// Writes as many bytes from the start of the buffers as the socket accepts, and returns their
    /// number. With `more`, the system may wait for the bytes that follow before it sends a short
    /// packet.
    ///
    /// # Errors
    /// `WouldBlock` if the peer accepts nothing now; otherwise the error of the socket.
    pub fn try_write(&self, buffers: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        self.check_write()?;
        let socket = self.stream.as_fd();
        self.stream.try_io(Interest::WRITABLE, || send_buffers(socket, buffers, more))
    }

    /// Returns true if [`try_send_file`](Self::try_send_file) is possible.
    pub fn sends_files(&self) -> bool {
        self.sends_files
    }

    /// Has the kernel send at most `limit` bytes from the start of a range, without copying them
    /// into this process, and returns their number; 0 means that the file ends there.
    ///
    /// # Errors
    /// `WouldBlock` if the peer accepts nothing now; otherwise those of the socket and of the file.
    ///
    /// # Panics
    /// If the transport cannot send files.
    pub fn try_send_file(&self, range: &FileRange, limit: usize) -> io::Result<usize> {
        assert!(self.sends_files, "a copying transport was given a file");
        self.check_write()?;
        let socket = self.stream.as_fd();
        let send = || range.file.send_to(socket, range.position, limit);
        self.stream.try_io(Interest::WRITABLE, send)
    }

    fn check_write(&self) -> io::Result<()> {
        self.conditions.as_ref().map_or(Ok(()), |conditions| conditions.check_write())
    }
}
