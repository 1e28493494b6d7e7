//! The role of this broker in a partition, and the view of it that requests share.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::metadata::{Caching, Lease};
use crate::replication::{
    Asks, Assignment, EndUnknown, Follower, HandOverStage, Leader, NotLeading, PartitionError,
    Reached, Rules, Target, TooFewReplicas,
};
use crate::storage::Log;
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// The part of this broker in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This broker leads the partition.
    Leader,
    /// This broker has a replica, and another broker leads the partition, or none does.
    Follower {
        /// The leader, if there is one.
        leader: Option<BrokerId>,
    },
    /// The partition has stopped, for this reason.
    Stopped(&'static str),
}

/// The role and the log of a partition, as requests see them: replaced as a whole.
#[derive(Clone, Debug)]
pub(super) struct Current {
    /// The rules in force.
    pub(super) rules: Rules,
    pub(super) role: Role,
    pub(super) epoch: LeaderEpoch,
    /// The lease under which this broker leads, if it needs one.
    pub(super) lease: Option<Arc<Lease>>,
    /// The first leader epoch whose records give a log a floor.
    pub(super) floor_epoch: LeaderEpoch,
    /// The time until which this broker, if it leads, answers no client (rule R6f in
    /// `protocol/rules.rs`).
    pub(super) silent_until: Duration,
    /// The log end offset at the start of the epoch, if this broker leads.
    pub(super) epoch_start: Offset,
    /// The number of in-sync replicas, if this broker leads.
    pub(super) in_sync: u32,
    /// The number of in-sync replicas that `acks=all` requires.
    pub(super) minimum: u32,
    /// The caching by which records count.
    pub(super) caching: Caching,
    /// True if this broker leads, but is not believed yet: other replicas may have more records
    /// (rule R21 in `protocol/rules.rs`).
    pub(super) is_unvouched: bool,
    /// The log, once it was found or created.
    pub(super) log: Option<Arc<Log>>,
    /// True once the log has been looked for on the disk.
    pub(super) is_open: bool,
    /// True once the leader epoch is recorded, so that batches may be stamped with it.
    pub(super) is_appendable: bool,
    /// The effect of a hand-over to another leader.
    pub(super) hand_over: HandOverStage,
    /// The last epoch in which this broker led, once it is over. Allocated on its own, since most
    /// partitions of a single broker never have one.
    pub(super) ended: Option<Arc<EndedEpoch>>,
}

/// A leader epoch of this broker that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedEpoch {
    pub(super) epoch: LeaderEpoch,
    /// The high watermark at the end of the epoch. What it covered stays committed, unless an
    /// operator gives it up.
    pub(super) high_watermark: Offset,
}

/// The state machine of this broker's role in a partition, under its lock.
#[derive(Debug, Default)]
pub(super) struct Leadership {
    /// The assignment by which this broker leads.
    pub(super) assigned: Option<Assignment>,
    /// The time at which the epoch began, by the monotonic clock.
    pub(super) began: Duration,
    /// The leader, from the moment at which its log is open.
    pub(super) leader: Option<Box<Leader>>,
    /// The follower, if another broker leads, from the moment at which its log is open. The
    /// follower and the leader are boxed, so that partitions that were never written to take little
    /// memory.
    pub(super) follower: Option<Box<Follower>>,
    /// The leaders that this replica has asked for records, in any epoch. `None` while this broker
    /// has neither followed nor led under a lease.
    pub(super) asks: Option<Box<Asks>>,
    /// The log start offsets that followers have reported in this epoch.
    pub(super) follower_starts: BTreeMap<BrokerId, Offset>,
}

impl Current {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            role: Role::Follower { leader: None },
            epoch: LeaderEpoch::NONE,
            lease: None,
            floor_epoch: LeaderEpoch::NONE,
            silent_until: Duration::ZERO,
            epoch_start: Offset::ZERO,
            in_sync: 0,
            minimum: 0,
            caching: Caching::Off,
            is_unvouched: false,
            log: None,
            is_open: false,
            is_appendable: false,
            hand_over: HandOverStage::None,
            ended: None,
        }
    }

    /// Fails if the partition has stopped.
    pub(super) fn check_not_stopped(&self) -> Result<(), PartitionError> {
        match self.role {
            Role::Stopped(reason) => Err(PartitionError::Stopped { reason }),
            Role::Leader | Role::Follower { .. } => Ok(()),
        }
    }

    /// Fails unless this broker leads the partition, and has not stopped answering.
    pub(super) fn check_leading(&self) -> Result<(), PartitionError> {
        match self.role {
            Role::Leader if self.hand_over == HandOverStage::Silent => {
                Err(PartitionError::NotLeader(NotLeading::NoLeader))
            }
            Role::Leader => Ok(()),
            Role::Follower { leader } => {
                let reason = leader.map_or(NotLeading::NoLeader, NotLeading::LedBy);
                Err(PartitionError::NotLeader(reason))
            }
            Role::Stopped(reason) => Err(PartitionError::Stopped { reason }),
        }
    }

    /// Fails unless records may be appended in this leader epoch.
    pub(super) fn check_accepting(&self) -> Result<(), PartitionError> {
        self.check_leading()?;
        match self.hand_over {
            HandOverStage::None if !self.rules.may_append(self.is_unvouched) => {
                Err(PartitionError::NotEnoughReplicas(TooFewReplicas::Unvouched))
            }
            HandOverStage::None => Ok(()),
            HandOverStage::CatchingUp | HandOverStage::Silent => {
                Err(PartitionError::NotLeader(NotLeading::NoLeader))
            }
        }
    }

    /// Fails unless `epoch`, the leader epoch of an append, is still the current one.
    pub(super) fn check_goes_on(&self, epoch: LeaderEpoch) -> Result<(), PartitionError> {
        self.check_leading()?;
        if self.rules.may_acknowledge(epoch, self.epoch) {
            return Ok(());
        }
        Err(PartitionError::EpochEnded { ended: epoch, current: self.epoch })
    }

    /// Returns true if the records of a target are committed: the high watermark of the epoch that
    /// appended them has covered them. They stay so when that epoch is over, and when too few
    /// replicas are in sync. The watermark of a later epoch tells nothing of them (KAFKA-20634).
    pub(super) fn has_committed(&self, target: Target, reached: Reached) -> bool {
        if self.role == Role::Leader && self.rules.may_acknowledge(target.epoch, self.epoch) {
            return reached.replicated >= target.next_offset;
        }
        let ended = self.ended.as_ref().filter(|ended| ended.epoch == target.epoch);
        ended.is_some_and(|ended| ended.high_watermark >= target.next_offset)
    }

    /// The last leader epoch of this broker that is over once the current epoch ends.
    pub(super) fn ended_now(&self, high_watermark: Offset) -> Option<Arc<EndedEpoch>> {
        match self.role {
            Role::Leader => Some(Arc::new(EndedEpoch { epoch: self.epoch, high_watermark })),
            Role::Follower { .. } | Role::Stopped(_) => self.ended.clone(),
        }
    }

    /// Fails if there are too few in-sync replicas for `acks=all`.
    pub(super) fn check_minimum(&self) -> Result<(), PartitionError> {
        if self.in_sync >= self.minimum {
            return Ok(());
        }
        let (in_sync, minimum) = (self.in_sync as usize, self.minimum as usize);
        Err(PartitionError::NotEnoughReplicas(TooFewReplicas::InSync { in_sync, minimum }))
    }

    /// Fails if an earlier leader may have shown more than `high_watermark`.
    pub(super) fn check_readable(&self, high_watermark: Offset) -> Result<(), PartitionError> {
        let (epoch, epoch_start) = (self.epoch, self.epoch_start);
        if self.rules.may_be_read(high_watermark, epoch_start) {
            return Ok(());
        }
        let unknown = EndUnknown::BelowEpochStart { high_watermark, epoch, epoch_start };
        Err(PartitionError::OffsetNotAvailable(unknown))
    }

    /// Returns false if other replicas may have records behind the end of this one.
    pub(super) fn may_tell_end(&self) -> bool {
        self.rules.may_tell_end(self.is_unvouched)
    }

    /// Fails if other replicas may have records behind the end of this one.
    pub(super) fn check_end(&self) -> Result<(), PartitionError> {
        if self.may_tell_end() {
            return Ok(());
        }
        let end = self.log.as_ref().map_or(Offset::ZERO, |log| log.log_end_offset());
        Err(PartitionError::OffsetNotAvailable(EndUnknown::Unvouched { end }))
    }

    /// Fails if this broker does not lead, or leads in another epoch than `asked`.
    pub(super) fn check_leading_in(&self, asked: LeaderEpoch) -> Result<(), PartitionError> {
        self.check_leading()?;
        let current = self.epoch;
        match asked.cmp(&current) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(PartitionError::FencedEpoch { asked, current }),
            Ordering::Greater => Err(PartitionError::UnknownEpoch { asked, current }),
        }
    }
}
