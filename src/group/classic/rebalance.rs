//! Rebalances: gathering the members, electing a leader, choosing a protocol.

use std::time::Duration;

use bytes::Bytes;

use super::current_generation::Phase;
use super::group::Group;
use super::member::Member;
use crate::group::step::Step;
use crate::group::{Answer, GroupError};

const SECOND: Duration = Duration::from_secs(1);

impl Group {
    /// Reacts to a change of members: starts a rebalance, or completes the running one if possible.
    pub(super) fn rebalance_or_complete(&mut self, step: &mut Step) {
        if self.generation.is_preparing() {
            self.complete_join_if_all_are_here(step);
        } else {
            self.prepare_rebalance(step);
        }
    }

    /// Starts a rebalance. Members that wait for an assignment are told at once; the others learn
    /// it from their next heartbeat.
    pub(in crate::group) fn prepare_rebalance(&mut self, step: &mut Step) {
        let assignment_is_void = self.generation.is_completing();
        for member in self.members.iter_mut() {
            member.sync_due = false;
            if assignment_is_void {
                member.assignment = Bytes::new();
                if let Some(ticket) = member.take_sync() {
                    step.answer(ticket, Answer::Sync(Err(GroupError::RebalanceInProgress)));
                    member.restart_session(step);
                }
            }
        }
        let timeout = self.members.rebalance_timeout();
        let preparing = Phase::preparing(self.generation.is_empty(), timeout, step);
        self.generation.enter(preparing, step.now.wall);
        self.complete_join_if_all_are_here(step);
    }

    /// Completes the rebalance if all members have joined; an initial rebalance waits out its
    /// delay. Without members it completes at once: newcomers may never join.
    pub(super) fn complete_join_if_all_are_here(&mut self, step: &mut Step) {
        let Phase::Preparing { initial, .. } = self.generation.phase() else { return };
        let are_all_here = initial.is_none() && self.members.have_all_joined();
        if are_all_here || self.members.is_empty() {
            self.complete_join(step);
        }
    }

    /// Handles the end of the join phase.
    pub(super) fn on_join_deadline(&mut self, step: &mut Step) {
        if !self.generation.prolong_initial_delay(step) {
            self.complete_join(step);
        }
    }

    /// Removes the members that have not rejoined, and begins the next generation with the others.
    /// Static members stay until their session expires.
    fn complete_join(&mut self, step: &mut Step) {
        let absent = |member: &Member| !member.awaits_join() && member.instance_id.is_none();
        for id in self.members.ids_where(absent) {
            self.remove(&id, &GroupError::UnknownMemberId, step);
        }
        if self.members.is_empty() {
            self.become_empty(step);
        } else if self.members.elect_leader() {
            self.begin_generation(step);
        } else {
            // Only static members are left and none has rejoined, so no member could compute an
            // assignment. Wait for one to rejoin, or for their sessions to expire.
            let timeout = self.members.rebalance_timeout().max(SECOND);
            self.generation.postpone_join(step.after(timeout));
        }
    }

    fn become_empty(&mut self, step: &mut Step) {
        self.members.set_leader(None);
        self.begin(None, Phase::Empty, step);
        // If this record is lost, the members return with the log and expire again.
        step.append(vec![self.snapshot(|_| Bytes::new())]);
    }

    fn begin_generation(&mut self, step: &mut Step) {
        let protocol = self.members.select_protocol();
        assert!(protocol.is_some(), "the members of group {} share no protocol", self.id);
        let sync_deadline = step.after(self.members.rebalance_timeout());
        self.begin(protocol, Phase::Completing { sync_deadline, proposal: None }, step);
        for id in self.members.ids_where(|_| true) {
            let joined = self.joined(&id, self.members.leader());
            let Some(member) = self.members.get_mut(&id) else { continue };
            member.sync_due = true;
            if let Some(ticket) = member.take_join() {
                member.restart_session(step);
                step.answer(ticket, Answer::Join(joined.ok_or(GroupError::UnknownMemberId)));
            }
        }
    }
}
