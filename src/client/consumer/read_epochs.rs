//! The leader epochs of the records that were fetched from one partition.
//!
//! They give the epoch in which the record before a position was written. This epoch is committed
//! with an offset. From it a new leader can tell whether its log still has that record (KIP-320).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::record::Batches;
use crate::types::{LeaderEpoch, Offset};

/// The maximum number of epochs; beyond it the oldest are forgotten.
const EPOCHS_MAX: usize = 32;

/// Epochs in ascending order, each with the lowest offset that is known to be in it. Slots are
/// copied in every round of fetching, and epochs rarely change, so copies share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadEpochs(Arc<VecDeque<(LeaderEpoch, Offset)>>);

impl ReadEpochs {
    /// The epochs at a position whose preceding record was written in `epoch`.
    pub(crate) fn ending(epoch: LeaderEpoch, position: Offset) -> Self {
        let is_known = epoch > LeaderEpoch::NONE && position > Offset::ZERO;
        let last = || (epoch, Offset::new(position.get() - 1));
        Self(Arc::new(is_known.then(last).into_iter().collect()))
    }

    /// Notes the epochs of fetched batches.
    pub(crate) fn note(&mut self, records: &[u8]) {
        for batch in Batches::new(records).map_while(Result::ok) {
            let epoch = batch.leader_epoch();
            let last = self.0.back().map(|(last, _)| *last);
            if last == Some(epoch) {
                continue;
            }
            let known = Arc::make_mut(&mut self.0);
            if last > Some(epoch) {
                // Epochs never decrease along a log, so it was truncated and written again: the
                // epochs noted so far may belong to records that are gone.
                known.clear();
            }
            if known.len() == EPOCHS_MAX {
                known.pop_front();
            }
            known.push_back((epoch, batch.base_offset()));
        }
    }

    /// The epoch of the record before an offset; [`LeaderEpoch::NONE`] if unknown.
    pub(crate) fn before(&self, offset: Offset) -> LeaderEpoch {
        let mut known = self.0.iter().rev();
        known.find(|(_, from)| *from < offset).map_or(LeaderEpoch::NONE, |(epoch, _)| *epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BatchBuilder, BatchSettings, Compressor, HeaderMut};
    use crate::types::Timestamp;

    fn batch(base_offset: i64, epoch: i32) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        builder.push(Timestamp::from_millis(1), None, Some(b"x"), &[]).unwrap();
        let mut bytes = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        let mut header = HeaderMut::of_batch(&mut bytes).unwrap();
        header.set_base_offset(Offset::new(base_offset));
        header.set_leader_epoch(LeaderEpoch(epoch));
        bytes
    }

    fn before(epochs: &ReadEpochs, offset: i64) -> i32 {
        epochs.before(Offset::new(offset)).0
    }

    #[test]
    fn an_epoch_reaches_from_its_first_record_to_that_of_the_next() {
        let mut epochs = ReadEpochs::default();
        assert_eq!(before(&epochs, 3), -1);
        epochs.note(&[batch(4, 2), batch(5, 2), batch(6, 5)].concat());
        assert_eq!([4, 5, 6, 7, 90].map(|offset| before(&epochs, offset)), [-1, 2, 2, 5, 5]);
    }

    #[test]
    fn a_committed_epoch_is_that_of_the_record_before_the_offset() {
        let epochs = ReadEpochs::ending(LeaderEpoch(3), Offset::new(8));
        assert_eq!([7, 8, 9].map(|offset| before(&epochs, offset)), [-1, 3, 3]);
        assert_eq!(before(&ReadEpochs::ending(LeaderEpoch(3), Offset::ZERO), 1), -1);
        assert_eq!(before(&ReadEpochs::ending(LeaderEpoch::NONE, Offset::new(8)), 9), -1);
    }

    #[test]
    fn a_lower_epoch_ends_what_was_read_of_a_log_that_is_gone() {
        let mut epochs = ReadEpochs::default();
        epochs.note(&[batch(4, 7), batch(2, 3)].concat());
        assert_eq!([2, 3, 5].map(|offset| before(&epochs, offset)), [-1, 3, 3]);
    }
}
