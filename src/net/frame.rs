//! Splits a stream of bytes into frames, in place.

use std::io;

use bytes::{Buf, BufMut, BytesMut};

use super::transport::Transport;

/// Bytes of the length before a frame.
pub const FRAME_PREFIX: usize = 4;

/// The minimum free space of the buffer before a read, so that one call receives the requests that
/// a pipelining client has sent. A buffer for the rest of a large frame may have less.
const READ_SIZE: usize = 64 * 1024;

/// The number of missing bytes up to which a large frame gets a buffer of its size at once. The
/// frame also gets it if at most as many bytes are missing as have arrived. Growing by doubling
/// would copy the whole frame and hold up to twice its size.
const TRUSTED: usize = 2 << 20;

/// A fault after which a connection cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The peer announced an invalid frame length.
    #[error("a frame of {length} bytes was announced; the limit is {max}")]
    Length {
        /// The announced length.
        length: i32,
        /// The setting `socket.request.max.bytes`.
        max: usize,
    },
    /// The peer closed the connection in the middle of a frame.
    #[error("the connection ended inside a frame, {missing} bytes before its end")]
    Truncated {
        /// The number of bytes that were still missing.
        missing: usize,
    },
    /// The socket returned an error.
    #[error("reading from the connection failed")]
    Io(#[from] io::Error),
}

/// Received bytes that have not been consumed yet.
///
/// Frames are returned in the buffer that they were read into, singly or all complete frames
/// together. An empty buffer holds no memory, so an idle connection costs none.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: BytesMut,
    frame_max: usize,
}

/// Complete frames that were received together, read in place.
#[derive(Debug)]
pub struct Frames {
    bytes: BytesMut,
}

/// The size of the first of these frames, with its length; `None` unless it is whole.
pub fn frame_size(frames: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(*frames.first_chunk()?);
    let size = FRAME_PREFIX.checked_add(usize::try_from(length).ok()?)?;
    (frames.len() >= size).then_some(size)
}

impl FrameBuffer {
    /// Creates a buffer that refuses frames of more than `frame_max` bytes.
    pub fn new(frame_max: usize) -> Self {
        Self { bytes: BytesMut::new(), frame_max }
    }

    /// Reads the available bytes. Returns 0 if the peer has closed its end.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is available; otherwise the error of the socket.
    pub fn fill(&mut self, transport: &Transport) -> io::Result<usize> {
        self.reserve_space();
        transport.try_read(&mut self.bytes)
    }

    /// Reads at most `READ_SIZE` of the available bytes: the beginning of a request.
    ///
    /// # Errors
    /// As [`FrameBuffer::fill`].
    pub fn fill_some(&mut self, transport: &Transport) -> io::Result<usize> {
        self.reserve_space();
        transport.try_read(&mut (&mut self.bytes).limit(READ_SIZE))
    }

    /// Reserves space for the next read and returns the resulting capacity of the buffer.
    pub fn reserve_space(&mut self) -> usize {
        let (missing, held) = (self.missing(), self.held());
        let room = self.bytes.capacity() - held;
        let is_large = missing + held > 2 * READ_SIZE;
        if !is_large || missing > held.max(TRUSTED) {
            self.bytes.reserve(READ_SIZE);
        } else if room < missing {
            let mut whole = BytesMut::with_capacity(held + missing);
            whole.extend_from_slice(&self.bytes);
            self.bytes = whole;
        }
        self.bytes.capacity()
    }

    /// The next complete frame, without its length; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`FrameError::Length`] if the announced length is negative or exceeds the limit.
    pub fn next_frame(&mut self) -> Result<Option<BytesMut>, FrameError> {
        let Some(size) = self.whole_at(0)? else { return Ok(None) };
        let mut frame = self.take(size);
        frame.advance(FRAME_PREFIX);
        Ok(Some(frame))
    }

    /// All complete frames; `None` if more bytes are needed.
    ///
    /// # Errors
    /// Like [`FrameBuffer::next_frame`], once the frames before the invalid one have been taken.
    pub fn next_frames(&mut self) -> Result<Option<Frames>, FrameError> {
        let Some(mut end) = self.whole_at(0)? else { return Ok(None) };
        while let Ok(Some(size)) = self.whole_at(end) {
            end += size;
        }
        Ok(Some(Frames { bytes: self.take(end) }))
    }

    /// The number of bytes that complete the current frame; 0 between frames.
    pub fn missing(&self) -> usize {
        match self.announced_at(0) {
            Ok(Some(size)) => size.saturating_sub(self.bytes.len()),
            Ok(None) if self.bytes.is_empty() => 0,
            Ok(None) => FRAME_PREFIX - self.bytes.len(),
            Err(_) => 0,
        }
    }

    /// The number of bytes held.
    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    fn take(&mut self, size: usize) -> BytesMut {
        let taken = self.bytes.split_to(size);
        if self.bytes.is_empty() {
            self.bytes = BytesMut::new();
        }
        taken
    }

    /// The size, including its prefix, of the frame at `position` if it is complete.
    fn whole_at(&self, position: usize) -> Result<Option<usize>, FrameError> {
        let held = self.bytes.len() - position;
        Ok(self.announced_at(position)?.filter(|size| *size <= held))
    }

    /// The size, including its prefix, that the frame at `position` announces.
    fn announced_at(&self, position: usize) -> Result<Option<usize>, FrameError> {
        let Some(prefix) = self.bytes[position..].first_chunk::<FRAME_PREFIX>() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*prefix);
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.frame_max)
            .map(|length| Some(length + FRAME_PREFIX))
            .ok_or(FrameError::Length { length, max: self.frame_max })
    }
}

impl Frames {
    /// The frames in order, each without its length.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let mut rest = self.bytes.as_mut();
        std::iter::from_fn(move || {
            let (prefix, behind) =
                std::mem::take(&mut rest).split_first_chunk_mut::<FRAME_PREFIX>()?;
            let (frame, behind) = behind.split_at_mut(u32::from_be_bytes(*prefix) as usize);
            rest = behind;
            Some(frame)
        })
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
    fn whole_frames_come_out_together_and_stay_where_they_were() {
        let mut buffer = holding(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03cd");
        let start = buffer.bytes.as_ptr();
        let mut frames = buffer.next_frames().unwrap().unwrap();
        let found: Vec<_> = frames.iter_mut().map(|frame| frame.to_vec()).collect();
        assert_eq!(found, [&b"ab"[..], b""]);
        assert_eq!(frames.bytes.as_ptr(), start);
        assert!(buffer.next_frames().unwrap().is_none());
        assert_eq!(buffer.missing(), 1);
    }

    #[test]
    fn an_impossible_length_is_reported_after_the_frames_before_it() {
        let mut buffer = holding(b"\0\0\0\x02ab\xff\0\0\0");
        assert_eq!(buffer.next_frames().unwrap().unwrap().iter_mut().count(), 1);
        assert!(matches!(buffer.next_frames(), Err(FrameError::Length { .. })));
    }

    #[test]
    fn a_large_frame_is_received_into_a_buffer_of_its_size() {
        let size = 20 * READ_SIZE;
        let prefix = i32::try_from(size).unwrap().to_be_bytes();
        let mut buffer = FrameBuffer { bytes: prefix[..].into(), frame_max: size };
        while buffer.missing() > 0 {
            buffer.reserve_space();
            let room = buffer.bytes.capacity() - buffer.held();
            buffer.bytes.resize(buffer.held() + room.min(READ_SIZE).min(buffer.missing()), 7);
            assert!(buffer.bytes.capacity() <= FRAME_PREFIX + size);
        }
        assert_eq!(buffer.next_frame().unwrap().unwrap().len(), size);
    }

    #[test]
    fn a_large_announced_length_reserves_little_until_bytes_arrive() {
        let mut buffer =
            FrameBuffer { bytes: [0x7f; FRAME_PREFIX][..].into(), frame_max: usize::MAX };
        buffer.reserve_space();
        assert!(buffer.bytes.capacity() <= 2 * READ_SIZE);
    }

    #[test]
    fn an_invalid_length_is_refused_before_its_bytes_arrive() {
        for prefix in [[0xff; 4], [0, 0, 0, 17], [0x7f, 0xff, 0xff, 0xff]] {
            let refused = holding(&prefix).next_frame();
            assert!(matches!(refused, Err(FrameError::Length { .. })), "{prefix:?} passed");
        }
        assert!(holding(&[0, 0, 0, 16]).next_frame().unwrap().is_none());
    }
}
