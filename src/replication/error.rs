//! The errors of a partition.

use std::error::Error;
use std::sync::Arc;

use crate::storage::{SkipError, StorageError};
use crate::types::{BrokerId, LeaderEpoch, Offset, WithCauses};

/// The reason why a broker does not answer as the leader of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLeading {
    /// Another broker leads.
    #[error("this broker does not lead the partition: broker {0} does; refresh the metadata")]
    LedBy(BrokerId),
    /// No leader is known, or this broker is handing the partition over.
    #[error("this broker does not lead the partition: no leader is elected; retry later")]
    NoLeader,
    /// Another broker may lead: the lease of this one has run out, and there is no proof that no
    /// other leader has been elected.
    #[error(
        "this broker may have lost the partition to another: the metadata store has not confirmed \
         its registration in time, and not all in-sync replicas fetch from it; retry later"
    )]
    NoLease,
    /// This broker has just been elected, and an earlier leader may still answer.
    #[error(
        "this broker leads the partition since a moment ago, and waits up to 2 s for its former \
         leader to stop; retry later"
    )]
    Silent,
}

/// The replicas that a leader lacks to take records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooFewReplicas {
    /// Too few replicas are in sync for `acks=all`.
    #[error("{in_sync} in-sync replicas, but min.insync.replicas is {minimum}; retry later")]
    InSync {
        /// The number of in-sync replicas.
        in_sync: usize,
        /// The number that is required.
        minimum: usize,
    },
    /// This broker was elected after the wait for other replicas, which may have more records.
    #[error(
        "this broker leads after the wait for other replicas, which may have more records: it \
         takes none until one of them returns; start their brokers, or accept the loss of what it \
         lacks with 'streamlog partition elect'"
    )]
    Unvouched,
}

/// The reason why a leader does not tell a reader where the records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndUnknown {
    /// An earlier leader may have shown records that this one cannot show yet.
    #[error(
        "the high watermark {high_watermark} is below {epoch_start}, where leader epoch {epoch} \
         starts; retry later"
    )]
    BelowEpochStart {
        /// The high watermark.
        high_watermark: Offset,
        /// The leader epoch.
        epoch: LeaderEpoch,
        /// The log end offset at its start.
        epoch_start: Offset,
    },
    /// This broker was elected after the wait for other replicas, which may have more records.
    #[error(
        "this broker leads after the wait for other replicas, which may have more records than \
         its own, up to {end}; retry once one of them has returned"
    )]
    Unvouched {
        /// The log end offset.
        end: Offset,
    },
}

/// The error of the last attempt to open a log.
#[derive(Debug)]
pub(super) struct OpenFailure {
    reason: Arc<str>,
    /// The number of attempts, one after the other, that have failed for reasons that stay.
    attempts: u32,
}

/// The number of failed attempts after which a log counts as unreadable: an error may pass by
/// itself.
const ATTEMPTS_MAX: u32 = 3;

impl OpenFailure {
    /// The failure of an attempt that follows another failed one. `is_lasting` is false for reasons
    /// that pass by themselves.
    pub(super) fn after(before: Option<&Self>, error: &dyn Error, is_lasting: bool) -> Self {
        let before = before.map_or(0, |failure| failure.attempts);
        let attempts = if is_lasting { (before + 1).min(ATTEMPTS_MAX) } else { 0 };
        Self { reason: WithCauses(error).to_string().into(), attempts }
    }

    /// The error in words.
    pub(super) fn reason(&self) -> Arc<str> {
        Arc::clone(&self.reason)
    }

    /// Returns true if the log cannot be read.
    pub(super) fn is_lasting(&self) -> bool {
        self.attempts >= ATTEMPTS_MAX
    }
}

/// The reason why a partition refused an operation.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The partition was deleted, or its data directory was closed.
    #[error("the partition has stopped: {reason}")]
    Stopped {
        /// The cause, in words.
        reason: &'static str,
    },
    /// This broker does not answer as the leader of the partition.
    #[error("{0}")]
    NotLeader(NotLeading),
    /// The leader epoch of an append is over, and had not committed its records.
    #[error("leader epoch {ended} has ended, the current one is {current}; send the records again")]
    EpochEnded {
        /// The leader epoch of the append.
        ended: LeaderEpoch,
        /// The current leader epoch.
        current: LeaderEpoch,
    },
    /// Too few replicas stand behind the leader.
    #[error("{0}")]
    NotEnoughReplicas(TooFewReplicas),
    /// This broker does not know yet where the records end that consumers may have seen.
    #[error("{0}")]
    OffsetNotAvailable(EndUnknown),
    /// The caller's leader epoch is older than the current one.
    #[error("leader epoch {asked} is fenced: the current leader epoch is {current}")]
    FencedEpoch {
        /// The leader epoch that the caller sent.
        asked: LeaderEpoch,
        /// The leader epoch of this partition.
        current: LeaderEpoch,
    },
    /// The caller's leader epoch is newer than the one known to this broker.
    #[error("leader epoch {asked} is unknown: the current leader epoch is {current}")]
    UnknownEpoch {
        /// The leader epoch that the caller sent.
        asked: LeaderEpoch,
        /// The leader epoch of this partition.
        current: LeaderEpoch,
    },
    /// The requested offset is outside the log, or above the high watermark for a deletion.
    #[error("offset {wanted} is out of range: the log holds {start}..{end}")]
    OffsetOutOfRange {
        /// The requested offset.
        wanted: i64,
        /// The log start offset.
        start: Offset,
        /// The log end offset, or the high watermark for a deletion.
        end: Offset,
    },
    /// The log could not be opened or created.
    #[error("the partition's log is not open: {reason}")]
    NotOpen {
        /// The error of the last attempt.
        reason: Arc<str>,
    },
    /// Damage is not skipped while another replica can repair it.
    #[error("{} intact copies of the damaged records", holders(*.others))]
    Repairable {
        /// The number of other in-sync replicas.
        others: usize,
    },
    /// The damage was not skipped.
    #[error(transparent)]
    Skip(#[from] SkipError),
    /// The log refused the operation.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PartitionError {
    /// Returns true if the operation cannot succeed in its leader epoch: the epoch is over, or this
    /// broker may not answer as the leader now.
    pub fn ends_epoch(&self) -> bool {
        matches!(
            self,
            Self::Stopped { .. }
                | Self::NotLeader(_)
                | Self::EpochEnded { .. }
                | Self::Storage(StorageError::EpochMismatch { .. })
        )
    }

    /// The error of a sync of a file, for tests of other layers.
    #[cfg(test)]
    pub(crate) fn of_sync(path: &str, source: std::io::Error) -> Self {
        StorageError::io("sync", path.as_ref(), source).into()
    }

    /// Returns true if the disk has logged this error itself.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_logged())
    }
}

/// The subject and verb of a sentence about other in-sync replicas.
fn holders(others: usize) -> String {
    match others {
        1 => "1 other replica is in sync and holds".to_owned(),
        _ => format!("{others} other replicas are in sync and hold"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_can_repair_are_said_in_the_singular_or_the_plural() {
        let words = |others| PartitionError::Repairable { others }.to_string();
        let rest = "intact copies of the damaged records";
        assert_eq!(words(1), format!("1 other replica is in sync and holds {rest}"));
        assert_eq!(words(2), format!("2 other replicas are in sync and hold {rest}"));
    }
}
