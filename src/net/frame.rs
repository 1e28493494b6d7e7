//! Cuts a stream of bytes into frames, in place.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::net::TcpStream;

/// Bytes of the length prefix.
const PREFIX: usize = 4;

/// How much room a read gets at least, so that one call takes what a pipelining client sent.
const READ_ROOM: usize = 64 * 1024;

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The peer announced a length no frame has.
    #[error("a frame of {length} bytes was announced; the limit is {max}")]
    Length {
        /// What the four bytes said.
        length: i32,
        /// The setting `socket.request.max.bytes`.
        max: usize,
    },
    /// The peer closed the connection in the middle of a frame.
    #[error("the connection ended inside a frame, {missing} bytes before its end")]
    Truncated {
        /// Bytes that were still to come.
        missing: usize,
    },
    /// The system refused.
    #[error("reading from the connection failed")]
    Io(#[from] io::Error),
}

/// What has been received and not yet taken.
///
/// Frames come out as slices of the buffer they were read into. An empty buffer holds no memory:
/// an idle connection costs none.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: BytesMut,
    frame_max: usize,
}

impl FrameBuffer {
    /// A buffer that refuses frames of more than `frame_max` bytes.
    pub fn new(frame_max: usize) -> Self {
        Self { bytes: BytesMut::new(), frame_max }
    }

    /// Reads what the socket has now. 0 means that the peer has closed its end.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; otherwise as the socket.
    pub fn fill(&mut self, stream: &TcpStream) -> io::Result<usize> {
        self.bytes.reserve(READ_ROOM);
        stream.try_read_buf(&mut self.bytes)
    }

    /// The next whole frame, without its length; `None` when more bytes are needed.
    ///
    /// # Errors
    /// [`FrameError::Length`] when the announced length is negative or beyond the limit.
    pub fn next_frame(&mut self) -> Result<Option<BytesMut>, FrameError> {
        let Some(length) = self.announced()? else { return Ok(None) };
        if self.bytes.len() - PREFIX < length {
            return Ok(None);
        }
        self.bytes.advance(PREFIX);
        let frame = self.bytes.split_to(length);
        if self.bytes.is_empty() {
            self.bytes = BytesMut::new();
        }
        Ok(Some(frame))
    }

    /// Bytes still to come of the frame begun; 0 between frames.
    pub fn missing(&self) -> usize {
        match self.announced() {
            Ok(Some(length)) => (length + PREFIX).saturating_sub(self.bytes.len()),
            Ok(None) if self.bytes.is_empty() => 0,
            Ok(None) => PREFIX - self.bytes.len(),
            Err(_) => 0,
        }
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    fn announced(&self) -> Result<Option<usize>, FrameError> {
        let Some(prefix) = self.bytes.first_chunk::<PREFIX>() else { return Ok(None) };
        let length = i32::from_be_bytes(*prefix);
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.frame_max)
            .map(Some)
            .ok_or(FrameError::Length { length, max: self.frame_max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(bytes: &[u8]) -> FrameBuffer {
        FrameBuffer { bytes: bytes.into(), frame_max: 16 }
    }

    #[test]
    fn frames_come_out_whole_and_in_order() {
        let mut buffer = holding(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03cd");
        assert_eq!(buffer.next_frame().unwrap().unwrap(), "ab");
        assert_eq!(buffer.next_frame().unwrap().unwrap(), "");
        assert_eq!(buffer.next_frame().unwrap(), None);
        assert_eq!(buffer.missing(), 1);
        buffer.bytes.extend_from_slice(b"e");
        assert_eq!(buffer.next_frame().unwrap().unwrap(), "cde");
        assert_eq!((buffer.missing(), buffer.held()), (0, 0));
    }

    #[test]
    fn a_length_no_frame_has_is_refused_before_its_bytes_come() {
        for prefix in [[0xff; 4], [0, 0, 0, 17], [0x7f, 0xff, 0xff, 0xff]] {
            let refused = holding(&prefix).next_frame();
            assert!(matches!(refused, Err(FrameError::Length { .. })), "{prefix:?} passed");
        }
        assert!(holding(&[0, 0, 0, 16]).next_frame().unwrap().is_none());
    }
}
