//! The coordinator of the groups in one partition of the internal topic.
//!
//! A coordinator is a function of its events: requests, deadlines, and reports of the log. While it
//! loads, it refuses requests. From [`Coordinator::finish_loading`] to [`Coordinator::unload`], its
//! state is the replayed log plus the members that have joined since. It never reads a clock and
//! has no state outside this structure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::classic::Group;
use super::expiry::Expiry;
use super::in_flight::InFlight;
use super::records::LogRecord;
use super::step::{Continuation, Step};
use super::uncertain_offsets::UncertainOffsets;
use crate::group::{
    Answer, AppendId, DamagedRecord, Decision, GroupConfig, GroupError, GroupId, Now, Request,
    Ticket, Unavailable,
};
use crate::types::{TopicId, TopicName};

/// The groups of one partition of the internal topic.
pub struct Coordinator {
    pub(super) config: Arc<GroupConfig>,
    pub(super) groups: BTreeMap<GroupId, Group>,
    /// The indexed deadline of each group that has one. It may be too early, but never too late.
    deadlines: BTreeSet<(Duration, GroupId)>,
    pub(super) in_flight: InFlight,
    pub(super) uncertain: UncertainOffsets,
    lifecycle: Lifecycle,
}

/// The lifecycle of a coordinator, from the first record to the loss of the partition.
enum Lifecycle {
    Loading,
    Active(Expiry),
    Unloaded,
}

/// The approximate maximum number of tombstones that one check for expired offsets writes.
const EXPIRED_PER_CHECK: usize = 1_000;

impl Coordinator {
    /// Creates a coordinator that has not read its log.
    pub fn new(config: GroupConfig) -> Self {
        Self {
            config: Arc::new(config),
            groups: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            in_flight: InFlight::default(),
            uncertain: UncertainOffsets::default(),
            lifecycle: Lifecycle::Loading,
        }
    }

    /// Applies a record of the log. Records come in order, before [`Self::finish_loading`].
    ///
    /// # Errors
    /// If the record cannot be decoded: it is skipped, and the caller reports it.
    ///
    /// # Panics
    /// If loading has finished.
    pub fn replay(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), DamagedRecord> {
        assert!(
            matches!(self.lifecycle, Lifecycle::Loading),
            "a record was replayed after loading"
        );
        match LogRecord::decode(key, value)? {
            LogRecord::Group { group, value: Some(snapshot) } => {
                self.group_mut(group).restore(snapshot);
            }
            LogRecord::Group { group: id, value: None } => {
                if let Some(group) = self.groups.get_mut(&id) {
                    group.forget_members();
                }
                self.drop_if_blank(&id);
            }
            record @ LogRecord::Offset { .. } => self.apply(record),
        }
        Ok(())
    }

    /// Notes that the log is damaged after the records replayed so far. The damage may hide a later
    /// commit, so an offset is refused until it is committed again.
    pub fn note_damage(&mut self) {
        self.uncertain.note_damage();
    }

    /// Accepts the loss of the damaged records, on behalf of an operator: known offsets are valid
    /// again.
    pub fn accept_loss(&mut self) {
        self.uncertain.clear();
    }

    /// Ends the loading phase: from now on requests are served.
    ///
    /// # Panics
    /// If loading has finished before.
    pub fn finish_loading(&mut self, now: Now) -> Decision {
        assert!(matches!(self.lifecycle, Lifecycle::Loading), "loading has finished before");
        self.lifecycle = Lifecycle::Active(Expiry::starting(now, &self.config));
        let mut step = Step::new(now, &self.config);
        let ids: Vec<GroupId> = self.groups.keys().cloned().collect();
        for id in ids {
            self.with_group(&id, |group| group.on_loaded(&mut step));
        }
        self.conclude(step)
    }

    /// Ends the coordinator, because another broker leads the partition or this one stops, and
    /// answers all pending requests.
    pub fn unload(&mut self, now: Now) -> Decision {
        let mut step = Step::new(now, &self.config);
        let error = GroupError::from(Unavailable::NotCoordinator);
        for waiting in self.in_flight.take_all() {
            if let Continuation::Answer(ticket, answer) = waiting.continuation {
                step.answer(ticket, answer.failed(&error));
            }
        }
        for group in self.groups.values_mut() {
            group.on_unloaded(&mut step);
        }
        self.groups.clear();
        self.deadlines.clear();
        self.lifecycle = Lifecycle::Unloaded;
        self.conclude(step)
    }

    /// Handles `request`; the response is in this decision or a later one.
    pub fn handle(&mut self, ticket: Ticket, request: Request, now: Now) -> Decision {
        let mut step = Step::new(now, &self.config);
        match self.lifecycle {
            Lifecycle::Active(_) => self.dispatch(ticket, request, &mut step),
            // Accept heartbeats while loading, as Kafka does: clients treat this error as fatal.
            Lifecycle::Loading if matches!(request, Request::Heartbeat(_)) => {
                step.answer(ticket, Answer::Heartbeat(Ok(())));
            }
            Lifecycle::Loading => refuse(ticket, request, Unavailable::Loading, &mut step),
            Lifecycle::Unloaded => refuse(ticket, request, Unavailable::NotCoordinator, &mut step),
        }
        self.conclude(step)
    }

    /// Handles the replication of all appends up to `last` that were not refused.
    pub fn replicated(&mut self, last: AppendId, now: Now) -> Decision {
        let mut step = Step::new(now, &self.config);
        while let Some(waiting) = self.in_flight.take_replicated(last) {
            for record in waiting.records {
                self.apply(record);
            }
            self.complete(waiting.continuation, &mut step);
        }
        self.conclude(step)
    }

    /// Handles the refusal of an append that will never be in the log, for example without disk
    /// space or replicas.
    pub fn refused(&mut self, id: AppendId, error: Unavailable, now: Now) -> Decision {
        let mut step = Step::new(now, &self.config);
        if let Some(waiting) = self.in_flight.take_refused(id) {
            self.fail(waiting.continuation, error, &mut step);
        }
        self.conclude(step)
    }

    /// Deletes the offsets of topics that no longer exist, identified by name and id, unless a
    /// commit for them is in flight. Does nothing while loading. The caller repeats this
    /// periodically: the resulting records may fail to reach the log.
    pub fn forget_topics(
        &mut self,
        is_gone: impl Fn(&TopicName, TopicId) -> bool,
        now: Now,
    ) -> Decision {
        let mut step = Step::new(now, &self.config);
        if let Lifecycle::Active(_) = self.lifecycle {
            let in_flight = self.in_flight.offsets();
            for group in self.groups.values() {
                step.append(group.forget_topics(&is_gone, &in_flight));
            }
        }
        self.conclude(step)
    }

    /// The next monotonic time at which [`Self::on_deadline`] has work to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        let group = self.deadlines.first().map(|(deadline, _)| *deadline);
        let check = match &self.lifecycle {
            Lifecycle::Active(expiry) => Some(expiry.next_check()),
            Lifecycle::Loading | Lifecycle::Unloaded => None,
        };
        [group, check, self.in_flight.next_deadline()].into_iter().flatten().min()
    }

    /// Handles everything that is due.
    pub fn on_deadline(&mut self, now: Now) -> Decision {
        let mut step = Step::new(now, &self.config);
        for continuation in self.in_flight.take_overdue(&step) {
            self.fail(continuation, Unavailable::NotAvailable, &mut step);
        }
        let is_due = |(at, _): &&(Duration, GroupId)| *at <= now.monotonic;
        let due: Vec<GroupId> =
            self.deadlines.iter().take_while(is_due).map(|(_, id)| id.clone()).collect();
        for id in due {
            self.with_group(&id, |group| group.on_deadline(&mut step));
        }
        self.expire_offsets(&mut step);
        self.conclude(step)
    }

    fn expire_offsets(&mut self, step: &mut Step) {
        let Lifecycle::Active(expiry) = &mut self.lifecycle else { return };
        if !expiry.is_due(step.now, &self.config) {
            return;
        }
        let in_flight = self.in_flight.offsets();
        let mut written = 0;
        for group in self.groups.values() {
            let retention = self.config.offsets_retention.into();
            let records = group.expire(step.now.wall, retention, &in_flight);
            written += records.len();
            step.append(records);
            if written >= EXPIRED_PER_CHECK {
                expiry.check_soon(step.now);
                return;
            }
        }
    }

    /// Completes the action that waited for an append, now replicated.
    fn complete(&mut self, continuation: Continuation, step: &mut Step) {
        match continuation {
            Continuation::Nothing => {}
            Continuation::Answer(ticket, answer) => step.answer(ticket, answer),
            Continuation::Assignment(id, generation) => {
                self.with_group(&id, |group| group.on_assigned(generation, step));
            }
            Continuation::Replacement(replacement) => {
                self.with_group(&replacement.group, |group| group.on_replaced(&replacement, step));
            }
        }
    }

    /// Fails the action that waited for an append, which failed or timed out.
    fn fail(&mut self, continuation: Continuation, error: Unavailable, step: &mut Step) {
        let error = GroupError::from(error);
        match continuation {
            Continuation::Nothing => {}
            Continuation::Answer(ticket, answer) => step.answer(ticket, answer.failed(&error)),
            Continuation::Assignment(id, generation) => {
                self.with_group(&id, |group| group.on_assignment_lost(generation, &error, step));
            }
            Continuation::Replacement(lost) => {
                let tell = |group: &mut Group| group.on_replacement_lost(&lost, &error, step);
                self.with_group(&lost.group, tell);
            }
        }
    }

    /// Applies a replicated record.
    fn apply(&mut self, record: LogRecord) {
        if let LogRecord::Offset { group, partition, .. } = &record {
            self.uncertain.note_write(group, partition);
        }
        match record {
            LogRecord::Offset { group, partition, value: Some(value) } => {
                self.group_mut(group).set_offset(partition, Some(value));
            }
            LogRecord::Offset { group: id, partition, value: None } => {
                if let Some(group) = self.groups.get_mut(&id) {
                    group.set_offset(partition, None);
                }
                self.drop_if_blank(&id);
            }
            LogRecord::Group { group: id, value: None } => {
                // Members that joined while the record was in flight keep the group alive.
                if let Some(group) = self.groups.get_mut(&id).filter(|group| group.is_empty()) {
                    group.forget_members();
                }
                self.drop_if_blank(&id);
            }
            LogRecord::Group { value: Some(_), .. } => {}
        }
    }

    pub(super) fn group_mut(&mut self, id: GroupId) -> &mut Group {
        self.groups.entry(id.clone()).or_insert_with(|| Group::new(id))
    }

    /// Applies `act` to a group, and updates its indexed deadline.
    pub(super) fn with_group<T>(
        &mut self,
        id: &GroupId,
        act: impl FnOnce(&mut Group) -> T,
    ) -> Option<T> {
        let group = self.groups.get_mut(id)?;
        let result = act(group);
        let deadline = group.next_deadline();
        let noted = std::mem::replace(&mut group.indexed_deadline, deadline);
        if noted != deadline {
            if let Some(noted) = noted {
                self.deadlines.remove(&(noted, id.clone()));
            }
            if let Some(deadline) = deadline {
                self.deadlines.insert((deadline, id.clone()));
            }
        }
        self.drop_if_blank(id);
        Some(result)
    }

    fn drop_if_blank(&mut self, id: &GroupId) {
        if self.groups.get(id).is_some_and(Group::is_blank)
            && let Some(group) = self.groups.remove(id)
            && let Some(noted) = group.indexed_deadline
        {
            self.deadlines.remove(&(noted, id.clone()));
        }
    }

    fn conclude(&mut self, step: Step) -> Decision {
        let deadline = step.after(self.config.commit_timeout);
        Decision { answers: step.answers, appends: self.in_flight.start(step.writes, deadline) }
    }
}

/// Answers a request with an error of the whole coordinator.
pub(super) fn refuse(ticket: Ticket, request: Request, error: Unavailable, step: &mut Step) {
    let error = GroupError::from(error);
    let answer = match request {
        Request::Join(_) => Answer::Join(Err(error)),
        Request::Sync(_) => Answer::Sync(Err(error)),
        Request::Heartbeat(_) => Answer::Heartbeat(Err(error)),
        Request::Leave(_) => Answer::Leave(Err(error)),
        Request::Commit(_) => Answer::Commit(Err(error)),
        Request::FetchOffsets(_) => Answer::FetchOffsets(Err(error)),
        Request::DeleteOffsets(_) => Answer::DeleteOffsets(Err(error)),
        Request::ListGroups(_) => Answer::ListGroups(Err(error)),
        Request::DeleteGroups(ids) => {
            Answer::DeleteGroups(ids.into_iter().map(|id| (id, Err(error.clone()))).collect())
        }
        Request::DescribeGroups(ids) => {
            Answer::DescribeGroups(ids.into_iter().map(|id| (id, Err(error.clone()))).collect())
        }
    };
    step.answer(ticket, answer);
}
