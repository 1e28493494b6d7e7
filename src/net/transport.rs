//! The socket of a connection, the only place that knows one.
//!
//! A direct transport lets the kernel send files (`sendfile`). A copying transport passes their
//! bytes through memory, as a connection must whose bytes are transformed before they are sent.
//! Callers see only that some transports cannot send files.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::BufMut;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::config::HostPort;
use crate::io::{FileRange, send_buffers};

/// One end of a connection. Reading and writing go on independently, each by one task.
#[derive(Debug)]
pub struct Transport {
    stream: TcpStream,
    sends_files: bool,
}

impl Transport {
    /// Connects to a peer; the transport lets the kernel send files.
    ///
    /// # Errors
    /// Those of resolving the address and of connecting.
    pub async fn connect(address: &HostPort) -> io::Result<Self> {
        Self::of(TcpStream::connect((address.host.as_str(), address.port)).await?)
    }

    /// A transport over a connected, non-blocking socket, which lets the kernel send files.
    ///
    /// # Errors
    /// If the socket is no longer connected.
    pub fn direct(stream: std::net::TcpStream) -> io::Result<Self> {
        Self::of(TcpStream::from_std(stream)?)
    }

    /// A transport over a connected, non-blocking socket, which sends files from memory.
    ///
    /// # Errors
    /// If the socket is no longer connected.
    #[cfg(any(test, feature = "internals"))]
    pub fn copying(stream: std::net::TcpStream) -> io::Result<Self> {
        Ok(Self { sends_files: false, ..Self::direct(stream)? })
    }

    fn of(stream: TcpStream) -> io::Result<Self> {
        // Frames are gathered before they are written; Nagle's algorithm would delay the last one.
        stream.set_nodelay(true)?;
        Ok(Self { stream, sends_files: true })
    }

    /// The local address.
    ///
    /// # Errors
    /// If the socket is no longer connected.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Waits until bytes can be read, or the stream has ended.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await
    }

    /// Reads available bytes, at most as many as the buffer takes. Returns 0 at the end of the
    /// stream.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is available; otherwise the error of the socket.
    pub fn try_read(&self, buffer: &mut impl BufMut) -> io::Result<usize> {
        self.stream.try_read_buf(buffer)
    }

    /// Waits until the peer has ended its stream, even if bytes before the end are still unread.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn ended_by_peer(&self) -> io::Result<()> {
        // Every wait reports the end of the stream as well; this one reports no readable bytes.
        self.stream.ready(Interest::PRIORITY).await.map(drop)
    }

    /// Waits until bytes can be written.
    ///
    /// # Errors
    /// The error of the socket.
    pub async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Writes a beginning of the buffers and returns its length. With `more`, the system may wait
    /// for the bytes that follow before it sends a short packet.
    ///
    /// # Errors
    /// `WouldBlock` if the peer accepts nothing now; otherwise the error of the socket.
    pub fn try_write(&self, buffers: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let socket = self.stream.as_fd();
        self.stream.try_io(Interest::WRITABLE, || send_buffers(socket, buffers, more))
    }

    /// Returns true if [`try_send_file`](Self::try_send_file) is possible.
    pub fn sends_files(&self) -> bool {
        self.sends_files
    }

    /// Sends at most `limit` bytes from the start of a range without copying them here, and returns
    /// their number; 0 means that the file ends there.
    ///
    /// # Errors
    /// `WouldBlock` if the peer accepts nothing now; otherwise those of the socket and of the file.
    ///
    /// # Panics
    /// If the transport cannot send files.
    pub fn try_send_file(&self, range: &FileRange, limit: usize) -> io::Result<usize> {
        assert!(self.sends_files, "a copying transport was given a file");
        let socket = self.stream.as_fd();
        let send = || range.file.send_to(socket, range.position, limit);
        self.stream.try_io(Interest::WRITABLE, send)
    }
}
