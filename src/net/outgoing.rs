//! Outgoing responses: small buffers are gathered into one write, and file ranges are sent without
//! a copy if the transport can do that.
//!
//! Sending a range that is not in the page cache would block the whole thread on the disk, and its
//! bytes would leave unchecked. So each stretch of a file is probed before it is sent. A cold
//! stretch is returned to the caller, which reads and checks it on a thread that may block and then
//! supplies the bytes.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::time::timeout;

use super::transport::Transport;
use crate::io::{FileRange, read_exact_at};

/// The maximum number of buffers per `sendmsg`.
const GATHERED_MAX: usize = 64;

/// The size up to which a copy costs less than another system call.
const SMALL_MAX: u64 = 32 * 1024;

/// The number of bytes of a file that are probed and sent at a time.
const STRETCH: u64 = 1 << 20;

/// The number of bytes of a file that are copied at a time for a transport that cannot send files.
const COPIED: u64 = 64 << 10;

/// The progress of a write.
#[derive(Clone, Debug)]
#[must_use]
pub enum Written {
    /// Everything has been written.
    All,
    /// The next range is not in memory or not verified. Writing continues after
    /// [`Outgoing::supply`] has received its bytes.
    UntilCold(FileRange),
}

/// A part of a response.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes in a file.
    File(FileRange),
}

/// Pieces that wait to be written, in order.
#[derive(Debug, Default)]
pub struct Outgoing {
    pieces: VecDeque<Piece>,
    queued_bytes: u64,
    /// The number of bytes of the first range that the last probe covered.
    looked_at: u64,
}

impl Outgoing {
    /// Appends a piece. A small range that can be sent directly is copied, so that it leaves
    /// together with the buffers around it.
    pub fn push(&mut self, piece: Piece) {
        let piece = match piece {
            Piece::File(range) => small(&range).map_or(Piece::File(range), Piece::Bytes),
            bytes @ Piece::Bytes(_) => bytes,
        };
        let length = match &piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::File(range) => range.length,
        };
        if length > 0 {
            self.queued_bytes += length;
            self.pieces.push_back(piece);
        }
    }

    /// Appends pieces.
    pub fn push_all(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        for piece in pieces {
            self.push(piece);
        }
    }

    /// The number of bytes pushed since the queue was last empty.
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// True if everything has been written.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes until the queue is empty or the next piece is not in memory.
    ///
    /// # Errors
    /// `TimedOut` if the peer accepts nothing for `stall_max`. `UnexpectedEof` if a file is shorter
    /// than its range: part of a frame may have been sent, so the connection must be closed.
    /// Otherwise the error of the socket or of the file.
    pub async fn write_to(
        &mut self,
        transport: &Transport,
        stall_max: Duration,
    ) -> io::Result<Written> {
        while !self.pieces.is_empty() {
            if let Some(cold) = self.cold_stretch() {
                return Ok(Written::UntilCold(cold));
            }
            if !transport.sends_files() {
                self.copy_front()?;
            }
            match self.write_some(transport) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    timeout(stall_max, transport.writable())
                        .await
                        .map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
                }
                Err(error) => return Err(error),
            }
        }
        self.queued_bytes = 0;
        Ok(Written::All)
    }

    /// The next stretch of a file, if it cannot be sent directly.
    fn cold_stretch(&mut self) -> Option<FileRange> {
        let Some(Piece::File(range)) = self.pieces.front() else { return None };
        self.looked_at = range.length.min(STRETCH);
        let is_cached = range.file.is_cached(range.position, self.looked_at);
        (!is_cached).then(|| FileRange { length: self.looked_at, ..range.clone() })
    }

    /// Replaces the start of the first piece, if it is a range of a file, with these bytes.
    pub fn supply(&mut self, bytes: Bytes) {
        let Some(Piece::File(range)) = self.pieces.front_mut() else { return };
        let length = range.length.min(bytes.len() as u64);
        range.position += length;
        range.length -= length;
        if range.length == 0 {
            self.pieces.pop_front();
        }
        self.pieces.push_front(Piece::Bytes(bytes));
    }

    /// Reads the start of a range into memory if the next piece is one.
    fn copy_front(&mut self) -> io::Result<()> {
        let Some(Piece::File(range)) = self.pieces.front() else { return Ok(()) };
        let mut bytes = vec![0; in_memory(self.looked_at.min(COPIED))];
        read_exact_at(range.file.as_ref(), &mut bytes, range.position)?;
        self.supply(bytes.into());
        Ok(())
    }

    fn write_some(&mut self, transport: &Transport) -> io::Result<()> {
        match self.pieces.front_mut() {
            None => Ok(()),
            Some(Piece::Bytes(_)) => self.write_buffers(transport),
            Some(Piece::File(range)) => {
                let sent = send_range(transport, range, self.looked_at)? as u64;
                range.position += sent;
                range.length -= sent;
                if range.length == 0 {
                    self.pieces.pop_front();
                }
                Ok(())
            }
        }
    }

    /// Writes the buffers before the next file range with one call.
    fn write_buffers(&mut self, transport: &Transport) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); GATHERED_MAX];
        let mut count = 0;
        let mut more = false;
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) if count < GATHERED_MAX => {
                    slices[count] = IoSlice::new(bytes);
                    count += 1;
                }
                _ => {
                    more = true;
                    break;
                }
            }
        }
        let mut written = transport.try_write(&slices[..count], more)?;
        while let Some(Piece::Bytes(bytes)) = self.pieces.front_mut() {
            let taken = written.min(bytes.len());
            bytes.advance(taken);
            written -= taken;
            if bytes.has_remaining() {
                break;
            }
            self.pieces.pop_front();
        }
        assert_eq!(written, 0, "the socket took bytes that were not offered");
        Ok(())
    }
}

/// The bytes of a range that is small, in memory and verified. If they cannot be read, sending the
/// range reports why.
fn small(range: &FileRange) -> Option<Bytes> {
    if range.length > SMALL_MAX || !range.file.is_cached(range.position, range.length) {
        return None;
    }
    let mut bytes = vec![0; in_memory(range.length)];
    read_exact_at(range.file.as_ref(), &mut bytes, range.position).ok()?;
    Some(bytes.into())
}

/// Sends at most `limit` bytes of the range and returns the number sent.
fn send_range(transport: &Transport, range: &FileRange, limit: u64) -> io::Result<usize> {
    let sent = transport.try_send_file(range, in_memory(limit))?;
    if sent == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(sent) }
}

fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
