//! A follower of a partition during one leader epoch.
//!
//! It fetches from the end of its log. If that log diverges from the leader's, the follower
//! truncates it to the last offset up to which the epochs of both agree, and fetches again.

use crate::replication::protocol::{EpochHistory, FetchPosition, Floor, Rules};
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// A leader's answer to a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchAnswer {
    /// The position that was fetched from.
    pub position: FetchPosition,
    /// The result.
    pub outcome: FetchOutcome,
    /// The leader's high watermark.
    pub high_watermark: Offset,
    /// The leader's log start offset.
    pub log_start: Offset,
}

/// The result of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// The records from the position on, perhaps none.
    Records,
    /// The leader's log diverges from the follower's.
    Diverging {
        /// The last epoch of the leader's log that is not above that of the follower.
        epoch: LeaderEpoch,
        /// The end of that epoch.
        end: Offset,
    },
    /// The leader's log begins after the position.
    OutOfRange,
}

/// The action that a follower takes after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerStep {
    /// Nothing: the answer belongs to another epoch or to another position.
    Discard,
    /// Append the records of the answer, and advance the log start offset to the leader's.
    Append,
    /// Truncate the log to this offset.
    Truncate(Offset),
    /// Remove all records, and continue at this offset.
    StartOver(Offset),
    /// Nothing: the records that the leader would have removed, from this offset on, were
    /// committed (rule R24).
    Keep(Offset),
}

/// A follower of a partition.
#[derive(Clone, Debug)]
pub struct Follower {
    rules: Rules,
    leader: BrokerId,
    epoch: LeaderEpoch,
    high_watermark: Offset,
    /// The largest watermark that the leader has reported, but not above a truncation since.
    leader_watermark: Offset,
    /// The offset below which all records were committed, as known at the first fetch of this
    /// epoch. What is learnt later comes from the leader itself.
    floor: Option<Offset>,
    /// True once records below the floor would have been removed.
    keeps_floor: bool,
}

impl Follower {
    /// Begins to follow `leader` in `epoch`, with the high watermark that this replica knows.
    pub fn new(rules: Rules, leader: BrokerId, epoch: LeaderEpoch, high_watermark: Offset) -> Self {
        Self {
            rules,
            leader,
            epoch,
            high_watermark,
            leader_watermark: high_watermark,
            floor: None,
            keeps_floor: false,
        }
    }

    /// The leader.
    pub fn leader(&self) -> BrokerId {
        self.leader
    }

    /// The leader epoch.
    pub fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// The high watermark, as far as this replica has stored the records below it.
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// True until the first fetch of this epoch has told the floor.
    pub fn needs_floor(&self) -> bool {
        self.floor.is_none()
    }

    /// Returns true if records below the floor would have been removed, and are kept (rule R24).
    pub fn keeps_floor(&self) -> bool {
        self.keeps_floor
    }

    /// The action before the first fetch, if any.
    pub fn first_step(&self) -> Option<FollowerStep> {
        self.rules.truncation_in_new_epoch(self.high_watermark).map(FollowerStep::Truncate)
    }

    /// The position of the next fetch, of a log of which all below `flushed` is flushed, and all
    /// below `floor` is known to have been committed; only the first floor of the epoch counts.
    pub fn position(
        &mut self,
        log: EpochHistory<'_>,
        flushed: Offset,
        floor: Option<Offset>,
    ) -> FetchPosition {
        self.floor = self.floor.or(floor);
        let floor = self.floor.unwrap_or(Offset::ZERO);
        FetchPosition {
            epoch: self.epoch,
            offset: log.end(),
            last_epoch: log.last_epoch(),
            flushed,
            floor: Floor { offset: floor, is_kept: self.keeps_floor },
        }
    }

    /// Takes the answer to a fetch, and returns the action to take on the log, which begins at
    /// `log_start`.
    pub fn answered(
        &mut self,
        answer: &FetchAnswer,
        log: EpochHistory<'_>,
        log_start: Offset,
    ) -> FollowerStep {
        let position = &answer.position;
        if !self.rules.is_same_epoch(position.epoch, self.epoch) || position.offset != log.end() {
            return FollowerStep::Discard;
        }
        let (step, removed_from) = match answer.outcome {
            FetchOutcome::Records => {
                self.leader_watermark = answer.high_watermark.max(self.leader_watermark);
                self.stored(position.flushed);
                return FollowerStep::Append;
            }
            FetchOutcome::Diverging { epoch, end } => {
                if self.rules.takes_watermark_first() {
                    let shown = answer.high_watermark.min(log.end());
                    self.high_watermark = self.high_watermark.max(shown);
                }
                let to = self.rules.truncation_point(log, (epoch, end));
                if to < log_start {
                    (FollowerStep::StartOver(answer.log_start), answer.log_start)
                } else {
                    (FollowerStep::Truncate(to), to)
                }
            }
            FetchOutcome::OutOfRange => {
                (FollowerStep::StartOver(answer.log_start), answer.log_start)
            }
        };
        if self.rules.keeps_log(removed_from, log.end(), position.floor.offset) {
            self.keeps_floor = true;
            return FollowerStep::Keep(removed_from);
        }
        step
    }

    /// Records that this replica has stored all records below `end`: the high watermark follows the
    /// leader's.
    pub fn stored(&mut self, end: Offset) {
        self.high_watermark = self.high_watermark.max(self.leader_watermark.min(end));
    }

    /// Records that the log was truncated to `end`. The watermark falls to `end` if it was above.
    pub fn truncated(&mut self, end: Offset) {
        self.high_watermark = self.high_watermark.min(end);
        self.leader_watermark = self.leader_watermark.min(end);
    }

    /// Records that the log was emptied and continues at `start`: the leader has removed the
    /// records below, which were all replicated.
    pub fn started_over(&mut self, start: Offset) {
        self.high_watermark = start;
        self.leader_watermark = start;
    }
}
