//! The records field of `Produce` and `Fetch`, whose bytes need not be copied into the message.
//!
//! A message is encoded with gaps for records that are elsewhere: in a file, or in a buffer of
//! their own. [`EncodedFrame::pieces`] returns the buffers between the gaps, and the number of each
//! gap. The size of a whole frame is known before its first byte is sent.

use bytes::Bytes;

use super::writer::Gap;
use super::{Layout, Nullable, Reader, Wire, WireError, Writer};

/// The record batches of a partition within a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// No records, as with an error.
    #[default]
    Null,
    /// The batches; a slice if decoded from a shared buffer.
    Bytes(Bytes),
    /// Records of this size that the sender of the frame inserts. Never decoded.
    Elsewhere(usize),
}

impl Records {
    /// The size of the batches in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Elsewhere(length) => *length,
        }
    }

    /// True if there are no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Wire for Records {
    fn min_size(layout: Layout) -> usize {
        Bytes::min_size(layout)
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Bytes::decode_nullable(reader)?.map_or(Self::Null, Self::Bytes))
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Null => Bytes::encode_null(writer),
            Self::Bytes(bytes) => bytes.encode(writer),
            Self::Elsewhere(length) => {
                writer.write_length(Some(*length));
                writer.skip(*length);
            }
        }
    }
}

/// A complete frame except for the records that are elsewhere.
#[derive(Debug)]
pub struct EncodedFrame {
    buffer: Bytes,
    gaps: Vec<Gap>,
}

/// The next part of a frame to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Bytes),
    /// The records of the nth [`Records::Elsewhere`] in the message, counted from 0.
    Records(usize),
}

impl EncodedFrame {
    /// The frame in `writer`, or the error of the first value that did not fit.
    pub(super) fn of(writer: Writer) -> Result<Self, WireError> {
        let (buffer, gaps) = writer.finish_with_gaps()?;
        Ok(Self { buffer, gaps })
    }

    /// The number of bytes to send, including the four bytes of the length prefix.
    pub fn size(&self) -> usize {
        self.gaps.iter().fold(self.buffer.len(), |size, gap| size.saturating_add(gap.length))
    }

    /// The frame as one buffer.
    ///
    /// # Panics
    /// If the frame has records elsewhere: such a frame is sent in pieces.
    pub fn into_bytes(self) -> Bytes {
        assert!(self.gaps.is_empty(), "{} gaps in a frame sent whole", self.gaps.len());
        self.buffer
    }

    /// The parts of the frame in sending order, without empty ranges.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(self.gaps.len().saturating_mul(2).saturating_add(1));
        let mut start = 0;
        for (ordinal, gap) in self.gaps.iter().enumerate() {
            self.push_bytes(&mut pieces, start..gap.position);
            if gap.length > 0 {
                pieces.push(Piece::Records(ordinal));
            }
            start = gap.position;
        }
        self.push_bytes(&mut pieces, start..self.buffer.len());
        pieces
    }

    fn push_bytes(&self, pieces: &mut Vec<Piece>, range: std::ops::Range<usize>) {
        if !range.is_empty() {
            pieces.push(Piece::Bytes(self.buffer.slice(range)));
        }
    }
}
