//! Rebalances: gathering the members, electing a leader, choosing a protocol.

use std::time::Duration;

use bytes::Bytes;

use super::group::{Group, Initial, Phase};
use super::member::Member;
use crate::group::step::Step;
use crate::group::{Answer, GroupError};

const SECOND: Duration = Duration::from_secs(1);

impl Group {
    /// Reacts to a change of members: starts a rebalance, or completes the running one if possible.
    pub(super) fn rebalance_or_complete(&mut self, step: &mut Step) {
        match self.phase {
            Phase::Preparing { .. } => self.complete_join_if_all_are_here(step),
            _ => self.prepare_rebalance(step),
        }
    }

    /// Starts a rebalance. Members that wait for an assignment are told at once; the others learn
    /// it from their next heartbeat.
    pub(in crate::group) fn prepare_rebalance(&mut self, step: &mut Step) {
        let assignment_is_void = matches!(self.phase, Phase::Completing { .. });
        for member in self.roster.iter_mut() {
            member.sync_due = false;
            if assignment_is_void {
                member.assignment = Bytes::new();
                if let Some(ticket) = member.take_sync() {
                    step.answer(ticket, Answer::Sync(Err(GroupError::RebalanceInProgress)));
                    member.restart_session(step);
                }
            }
        }
        let timeout = self.roster.rebalance_timeout();
        let preparing = if matches!(self.phase, Phase::Empty) {
            let delay = step.config.initial_rebalance_delay;
            let remaining = timeout.saturating_sub(delay);
            let initial = Some(Initial { delay, remaining, grown: false });
            Phase::Preparing { deadline: step.after(delay), initial }
        } else {
            Phase::Preparing { deadline: step.after(timeout), initial: None }
        };
        self.phase = preparing;
        self.state_since = Some(step.now.wall);
        self.complete_join_if_all_are_here(step);
    }

    /// Completes the rebalance if all members have joined. An initial rebalance waits out its
    /// delay, unless all members have left again.
    pub(super) fn complete_join_if_all_are_here(&mut self, step: &mut Step) {
        let Phase::Preparing { initial, .. } = &self.phase else { return };
        let may_complete = initial.is_none() || self.roster.is_empty();
        let all_are_here = self.pending.is_empty() && self.roster.iter().all(Member::awaits_join);
        if may_complete && all_are_here {
            self.complete_join(step);
        }
    }

    /// Handles the end of the join phase.
    pub(super) fn on_join_deadline(&mut self, step: &mut Step) {
        let next_delay = step.config.initial_rebalance_delay;
        if let Phase::Preparing { deadline, initial: Some(initial) } = &mut self.phase
            && initial.grown
            && !initial.remaining.is_zero()
        {
            let delay = next_delay.min(initial.remaining);
            let remaining = initial.remaining.saturating_sub(initial.delay);
            *initial = Initial { delay, remaining, grown: false };
            *deadline = step.after(delay);
            return;
        }
        self.complete_join(step);
    }

    /// Removes the members that have not rejoined, and begins the next generation with the others.
    /// Static members stay until their session expires.
    fn complete_join(&mut self, step: &mut Step) {
        let absent = |member: &Member| !member.awaits_join() && member.instance_id.is_none();
        for id in self.roster.ids_where(absent) {
            self.remove(&id, &GroupError::UnknownMemberId, step);
        }
        if self.roster.is_empty() {
            self.become_empty(step);
        } else if self.elect_leader() {
            self.begin_generation(step);
        } else if let Phase::Preparing { deadline, initial } = &mut self.phase {
            // Only static members are left and none has rejoined, so nobody could compute an
            // assignment. Wait for one to rejoin, or for their sessions to expire.
            *deadline = step.after(self.roster.rebalance_timeout().max(SECOND));
            *initial = None;
        }
    }

    /// Keeps the leader if it has rejoined, or else takes the first member that has.
    fn elect_leader(&mut self) -> bool {
        let has_joined = |id| self.roster.get(id).is_some_and(Member::awaits_join);
        if !self.leader.as_ref().is_some_and(has_joined) {
            self.leader = self.roster.ids_where(Member::awaits_join).into_iter().next();
        }
        self.leader.is_some()
    }

    fn become_empty(&mut self, step: &mut Step) {
        self.generation = self.generation.next();
        self.protocol = None;
        self.leader = None;
        self.enter(Phase::Empty, step);
        // If this record is lost, the members return with the log and expire again.
        step.append(vec![self.snapshot(|_| Bytes::new())]);
    }

    fn begin_generation(&mut self, step: &mut Step) {
        self.generation = self.generation.next();
        self.protocol = self.roster.select_protocol();
        assert!(self.protocol.is_some(), "the members of group {} share no protocol", self.id);
        let sync_deadline = step.after(self.roster.rebalance_timeout());
        self.enter(Phase::Completing { sync_deadline, proposal: None }, step);
        for id in self.roster.ids_where(|_| true) {
            let joined = self.joined(&id, self.leader.as_ref());
            let Some(member) = self.roster.get_mut(&id) else { continue };
            member.sync_due = true;
            if let Some(ticket) = member.take_join() {
                member.restart_session(step);
                step.answer(ticket, Answer::Join(joined.ok_or(GroupError::UnknownMemberId)));
            }
        }
    }
}
