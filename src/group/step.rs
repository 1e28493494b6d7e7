//! The context and the results of one event.

use std::sync::Arc;
use std::time::Duration;

use crate::group::records::LogRecord;
use crate::group::{Answer, Generation, GroupConfig, GroupId, MemberId, Now, Ticket};

/// The context of one event, and its results.
pub(super) struct Step {
    pub(super) now: Now,
    pub(super) config: Arc<GroupConfig>,
    /// Responses to send at once.
    pub(super) answers: Vec<(Ticket, Answer)>,
    /// Records to append, in order.
    pub(super) writes: Vec<Write>,
}

/// Records, and the action that waits for their replication.
pub(super) struct Write {
    pub(super) records: Vec<LogRecord>,
    pub(super) continuation: Continuation,
}

/// The action that waits for records to be replicated.
pub(super) enum Continuation {
    Nothing,
    /// Send a complete response.
    Answer(Ticket, Answer),
    /// Give the members of a generation their assignments.
    Assignment(GroupId, Generation),
    /// Admit the new incarnation of a static member.
    Replacement(Replacement),
}

/// The new incarnation of a static member in a stable group.
pub(super) struct Replacement {
    pub(super) group: GroupId,
    pub(super) member: MemberId,
    pub(super) generation: Generation,
    /// The leader named in the response.
    pub(super) leader: Option<MemberId>,
}

impl Step {
    pub(super) fn new(now: Now, config: &Arc<GroupConfig>) -> Self {
        Self { now, config: Arc::clone(config), answers: Vec::new(), writes: Vec::new() }
    }

    /// The time `timeout` from now.
    pub(super) fn after(&self, timeout: Duration) -> Duration {
        self.now.monotonic.saturating_add(timeout)
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.answers.push((ticket, answer));
    }

    /// Sends `answer` once `records` are replicated; at once if there are none.
    pub(super) fn answer_after(&mut self, records: Vec<LogRecord>, ticket: Ticket, answer: Answer) {
        if records.is_empty() {
            self.answer(ticket, answer);
        } else {
            self.writes.push(Write { records, continuation: Continuation::Answer(ticket, answer) });
        }
    }

    /// Appends records without a response.
    pub(super) fn append(&mut self, records: Vec<LogRecord>) {
        if !records.is_empty() {
            self.writes.push(Write { records, continuation: Continuation::Nothing });
        }
    }
}
