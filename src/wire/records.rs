//! The records field of Produce and Fetch, whose bytes need not pass through memory.
//!
//! A message is encoded with gaps where records lie in a file; [`EncodedFrame::pieces`] hands out
//! the buffers between the gaps and, for each gap, which of the files comes next. The size of a
//! whole frame is known before its first byte is sent.

use bytes::Bytes;

use super::writer::Gap;
use super::{Layout, Nullable, Reader, Wire, WireError, Writer};

/// Record batches of one partition within a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// There are none, as beside an error.
    #[default]
    Null,
    /// The batches; when decoded from a shared buffer, a slice of it.
    Bytes(Bytes),
    /// So many bytes that whoever sends the frame puts in. Never decoded.
    Elsewhere(usize),
}

impl Records {
    /// How many bytes the batches take.
    pub fn len(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Elsewhere(length) => *length,
        }
    }

    /// Whether there is no batch.
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

/// A whole frame but for the records that lie elsewhere.
#[derive(Debug)]
pub struct EncodedFrame {
    buffer: Bytes,
    gaps: Vec<Gap>,
}

/// What is sent next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Bytes),
    /// The records of the nth [`Records::Elsewhere`] of the message, counted from 0.
    Records(usize),
}

impl EncodedFrame {
    /// The frame that was written, or the first value that did not fit.
    pub(super) fn of(writer: Writer) -> Result<Self, WireError> {
        let (buffer, gaps) = writer.finish_with_gaps()?;
        Ok(Self { buffer, gaps })
    }

    /// How many bytes go over the wire, the four of the length prefix included.
    pub fn size(&self) -> usize {
        self.gaps.iter().fold(self.buffer.len(), |size, gap| size.saturating_add(gap.length))
    }

    /// The frame as one buffer.
    ///
    /// # Panics
    /// If records lie elsewhere: such a frame is sent by its pieces.
    pub fn into_bytes(self) -> Bytes {
        assert!(self.gaps.is_empty(), "{} gaps in a frame sent whole", self.gaps.len());
        self.buffer
    }

    /// The frame in the order of sending. Empty ranges are left out, of bytes and of records.
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
