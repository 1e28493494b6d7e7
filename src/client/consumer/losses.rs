//! Records that an operator gave up, so that a replica could lead that lacked them.
//!
//! A consumer that has read records of an earlier leader epoch gets an error once, and continues in
//! the log of the new leader. Its position then counts as being in the leader epoch of the loss,
//! and commits carry this epoch. So neither this consumer nor the partition's next owner in the
//! group gets the error again.

use std::ops::Range;
use std::sync::Arc;

use super::fetch_buffer::Source;
use super::shared::Shared;
use crate::client::{ClientError, Damage};
use crate::types::{LeaderEpoch, Offset};

/// The loss of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLoss {
    /// The first offset whose record is lost.
    pub(crate) from: Offset,
    /// The leader epoch that began with the loss.
    pub(crate) leader_epoch: LeaderEpoch,
}

/// The answer of a leader to the check of a position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    /// The offsets in which the leader's log agrees with the records that were read, if they end
    /// before the position.
    pub(crate) unchanged: Option<Range<Offset>>,
    /// A loss of records that the consumer may have read.
    pub(crate) loss: Option<RecordLoss>,
}

impl Shared {
    /// Acts on the findings of a position check.
    pub(crate) fn checked(&self, source: &Source, found: Checked) {
        match found {
            Checked { unchanged, loss: Some(loss) } => self.lose(source, loss, unchanged),
            Checked { unchanged: Some(unchanged), loss: None } => self.diverge(source, unchanged),
            Checked { unchanged: None, loss: None } => {}
        }
    }

    /// Queues an error about a loss of records, if some of those that were read are lost. Reading
    /// continues at the lowest of the source's position, the start of the loss, and the end of
    /// `unchanged`. These are the offsets in which the leader's log agrees with the records that
    /// were read.
    pub(crate) fn lose(&self, source: &Source, loss: RecordLoss, unchanged: Option<Range<Offset>>) {
        let Source { slot, generation, partition, position, .. } = source;
        let end = unchanged.map_or(loss.from, |unchanged| unchanged.end.min(loss.from));
        let resumed = end.min(*position);
        let go_on =
            || self.assignment.go_on_after(*slot, *generation, (resumed, loss.leader_epoch));
        if resumed == *position {
            go_on();
            self.work.notify_one();
            return;
        }
        let damage = Damage::GivenUp { position: *position, resumed };
        let (partition, offset) = (partition.clone(), loss.from);
        let error = ClientError::Damaged { partition, offset, source: Arc::new(damage) };
        self.arrivals.fail_if(error, go_on);
        self.work.notify_one();
    }
}
