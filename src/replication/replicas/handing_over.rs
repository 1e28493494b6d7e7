//! The leader's part of a partition that it hands over to another replica.

use std::sync::Arc;
use std::time::Duration;

use crate::replication::role::Current;
use crate::replication::{HandOverStep, Partition, PartitionError, RequestedChange};
use crate::types::{BrokerId, Offset};

/// The progress of a hand-over.
#[derive(Debug)]
pub enum HandOverProgress {
    /// The change that makes the successor the leader is to be requested.
    Ask(RequestedChange),
    /// The successor, or the store, has yet to answer.
    Wait,
    /// The leader epoch is over, or the hand-over has failed and this broker continues to lead.
    Over,
}

impl Partition {
    /// Begins to hand the partition over to an in-sync replica, at `now` by the monotonic clock:
    /// producers are refused from now on, and retry. Returns false if that broker cannot lead.
    /// Opens the log on first use, which blocks on the disk.
    ///
    /// # Errors
    /// If the partition has stopped, or its log cannot be opened.
    pub fn begin_hand_over(
        self: &Arc<Self>,
        to: BrokerId,
        now: Duration,
    ) -> Result<bool, PartitionError> {
        self.open()?;
        let mut leadership = self.lock_leadership();
        let Some(leader) = &mut leadership.leader else { return Ok(false) };
        if !leader.begin_hand_over(to, now) {
            return Ok(false);
        }
        self.update(|current| Current { is_appendable: false, ..current.clone() });
        self.publish(leader);
        let epoch = leader.epoch();
        drop(leadership);
        if let Some(log) = self.log() {
            // An append that has read the old role may still be on its way: the log refuses it.
            log.epochs().end(epoch);
            self.logs().flusher.schedule(&log, true);
        }
        Ok(true)
    }

    /// Takes the next step of a hand-over, at `now` by the monotonic clock.
    pub fn continue_hand_over(self: &Arc<Self>, now: Duration) -> HandOverProgress {
        let mut leadership = self.lock_leadership();
        let Some(leader) = &mut leadership.leader else { return HandOverProgress::Over };
        let log_end = self.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        let step = leader.continue_hand_over(log_end, now);
        self.publish(leader);
        match step {
            HandOverStep::Ask(change) => {
                let (partition, epoch) = (Arc::clone(self), leader.epoch());
                HandOverProgress::Ask(RequestedChange { partition, epoch, change })
            }
            HandOverStep::Wait => HandOverProgress::Wait,
            HandOverStep::Over => HandOverProgress::Over,
        }
    }
}
