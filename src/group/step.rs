//! One step of the machine: what an event may look at, and what it leaves to be done.

use std::sync::Arc;
use std::time::Duration;

use crate::group::records::LogRecord;
use crate::group::{Answer, Generation, GroupConfig, GroupId, MemberId, Now, Ticket};

/// The surroundings of one event, and its results.
pub(super) struct Step {
    pub(super) now: Now,
    pub(super) config: Arc<GroupConfig>,
    /// To be sent at once.
    pub(super) answers: Vec<(Ticket, Answer)>,
    /// To be appended, in order.
    pub(super) writes: Vec<Write>,
}

/// Records, and what rests on them.
pub(super) struct Write {
    pub(super) records: Vec<LogRecord>,
    pub(super) rests: Rests,
}

/// What waits for records to be replicated.
pub(super) enum Rests {
    Nothing,
    /// An answer, complete.
    Answer(Ticket, Answer),
    /// The members of a generation, for their assignment.
    Assignment(GroupId, Generation),
    /// A static member's new life, for its place.
    Replacement(Replacement),
}

/// A static member's new life in a stable group.
pub(super) struct Replacement {
    pub(super) group: GroupId,
    pub(super) member: MemberId,
    pub(super) generation: Generation,
    /// Who it is told leads.
    pub(super) leader: Option<MemberId>,
}

impl Step {
    pub(super) fn new(now: Now, config: &Arc<GroupConfig>) -> Self {
        Self { now, config: Arc::clone(config), answers: Vec::new(), writes: Vec::new() }
    }

    /// The moment `timeout` from now.
    pub(super) fn after(&self, timeout: Duration) -> Duration {
        self.now.monotonic.saturating_add(timeout)
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.push((ticket, answer));
    }

    /// Sends `answer` when `records` are replicated; at once if there are none.
    pub(super) fn answer_after(&mut self, records: Vec<LogRecord>, ticket: Ticket, answer: Answer) {
        if records.is_empty() {
            self.answer(ticket, answer);
        } else {
            self.writes.push(Write { records, rests: Rests::Answer(ticket, answer) });
        }
    }

    /// Appends records on which no answer rests.
    pub(super) fn note(&mut self, records: Vec<LogRecord>) {
        if !records.is_empty() {
            self.writes.push(Write { records, rests: Rests::Nothing });
        }
    }
}
