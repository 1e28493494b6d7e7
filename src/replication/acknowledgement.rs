//! The conditions under which producers are answered.

use crate::types::{LeaderEpoch, Offset};

/// The acknowledgement that a producer asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// No acknowledgement: the producer gets no response.
    None,
    /// Once the leader has stored the record as its topic requires: flushed, or only appended with
    /// `write.caching`.
    Leader,
    /// Once the high watermark covers the record.
    All,
}

/// The condition under which a producer is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The leader epoch of the append. Only the progress of this epoch acknowledges the records.
    pub epoch: LeaderEpoch,
    /// The offset after the last appended record.
    pub next_offset: Offset,
    /// The acknowledgement that the producer asked for.
    pub acks: Acks,
}

/// The progress of a partition that producers wait for.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// The offset up to which this replica has stored the log.
    pub stored: Offset,
    /// The high watermark.
    pub replicated: Offset,
}

impl Target {
    /// Returns true if the progress of a partition reaches the target.
    pub(super) fn is_reached(&self, reached: Reached) -> bool {
        match self.acks {
            Acks::None => true,
            Acks::Leader => reached.stored >= self.next_offset,
            Acks::All => reached.replicated >= self.next_offset,
        }
    }
}
