//! The hand-over of a partition to another in-sync replica, as its leader goes through it.
//!
//! The leader appends nothing more until its successor has stored the whole log. Then it stops
//! answering and asks the store to replace it. While it is unknown whether the store has done so,
//! the leader stays silent: the successor may already serve.

use std::time::Duration;

use crate::metadata::{InSyncOutcome, IsrMember};
use crate::replication::protocol::{InSyncChange, Rules};

/// The longest time for which a leader appends nothing while its successor catches up.
const CATCH_UP_MAX: Duration = Duration::from_secs(5);

/// The effect of a hand-over on a leader's answers to clients and followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandOverStage {
    /// No hand-over is under way.
    None,
    /// The leader appends nothing.
    CatchingUp,
    /// The leader answers no request.
    Silent,
}

/// The next step of a hand-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOverStep {
    /// The store is to be asked to make this change.
    Ask(InSyncChange),
    /// The successor, or the store, has yet to answer.
    Wait,
    /// No hand-over is under way: none has begun, or it has failed and the leader continues to
    /// lead.
    Over,
}

/// A hand-over that has begun.
#[derive(Clone, Debug)]
pub(super) struct HandOver {
    successor: IsrMember,
    began: Duration,
    asked: Option<Asked>,
}

/// The change that the store was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    id: u64,
    /// The version of the state that the change names.
    named: i32,
    /// True once an attempt to make the change had an unknown outcome.
    is_unknown: bool,
}

impl HandOver {
    pub(super) fn new(successor: IsrMember, now: Duration) -> Self {
        Self { successor, began: now, asked: None }
    }

    pub(super) fn successor(&self) -> IsrMember {
        self.successor
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns true if the successor has had its time to catch up.
    pub(super) fn has_waited_enough(&self, now: Duration) -> bool {
        now.saturating_sub(self.began) > CATCH_UP_MAX
    }

    pub(super) fn ask(&mut self, change: &InSyncChange) {
        self.asked = Some(Asked { id: change.id, named: change.version, is_unknown: false });
    }

    pub(super) fn stage(&self, rules: Rules) -> HandOverStage {
        match self.asked {
            Some(asked) if !asked.is_unknown && rules.is_silent_while_asking() => {
                HandOverStage::Silent
            }
            Some(asked) if asked.is_unknown && rules.is_silent_while_unknown() => {
                HandOverStage::Silent
            }
            _ => HandOverStage::CatchingUp,
        }
    }

    /// Takes the outcome of a change. Returns true if the hand-over has failed.
    pub(super) fn answered(&mut self, id: u64, outcome: InSyncOutcome) -> bool {
        let Some(asked) = self.asked.as_mut().filter(|asked| asked.id == id) else { return false };
        match outcome {
            // The new leader epoch has begun, though this broker has not read it yet: it goes on
            // refusing clients until then.
            InSyncOutcome::Applied { .. } => false,
            // After an attempt of unknown outcome, a refusal proves nothing: that attempt may have
            // been applied, and the state changed again since.
            InSyncOutcome::Refused => !asked.is_unknown,
            InSyncOutcome::Unknown => {
                asked.is_unknown = true;
                false
            }
        }
    }

    /// Takes the version of a state that was read in this leader epoch. Returns true if it shows
    /// that the hand-over has failed.
    pub(super) fn read(&self, version: i32, behind_sync: bool, rules: Rules) -> bool {
        self.asked.is_some_and(|asked| rules.settles(asked.named, version, behind_sync))
    }
}
