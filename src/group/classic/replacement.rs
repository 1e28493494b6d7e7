//! Replacement of a static member by its next incarnation.
//!
//! The old incarnation is fenced at once, in memory, even if the record of the new one is refused:
//! the client is then told to retry, and takes over again by its static name.

use super::group::Group;
use super::member::{Member, Parked};
use crate::group::step::{Continuation, Replacement, Step, Write};
use crate::group::{Answer, GroupError, JoinRequest, MemberId, Ticket};

impl Group {
    /// Replaces the member with the request's static name by its new incarnation.
    pub(super) fn replace(
        &mut self,
        new: &MemberId,
        request: JoinRequest,
        ticket: Ticket,
        step: &mut Step,
    ) {
        let old = request.instance_id.as_ref().and_then(|id| self.members.of_instance(id)).cloned();
        let can_skip_assignment = request.can_skip_assignment;
        let leader_before = self.members.leader().cloned();
        let Some(mut member) = old.as_ref().and_then(|old| self.members.remove(old)) else {
            step.answer(ticket, Answer::Join(Err(GroupError::UnknownMemberId)));
            return;
        };
        member.dismiss(&GroupError::FencedInstanceId, step);
        member.id = new.clone();
        member.update(request);
        member.restart_session(step);
        self.members.insert(member);
        if leader_before == old {
            self.members.set_leader(Some(new.clone()));
        }
        if let Some(member) = self.members.get_mut(new) {
            member.park(Parked::Join(ticket), step);
        }
        let keeps_generation = self.generation.is_stable()
            && self.members.select_protocol().as_ref() == self.generation.protocol();
        if keeps_generation {
            // A leader that cannot skip the assignment is told that the old member id leads, so
            // that it does not assign again (KIP-814).
            let leader =
                if can_skip_assignment { self.members.leader().cloned() } else { leader_before };
            self.store_replacement(new.clone(), leader, step);
        } else {
            // Rebalance also in CompletingRebalance: the leader may have assigned to the old member
            // id.
            self.rebalance_or_complete(step);
        }
    }

    fn store_replacement(&mut self, member: MemberId, leader: Option<MemberId>, step: &mut Step) {
        let records = vec![self.snapshot(|member| member.assignment.clone())];
        let (group, generation) = (self.id.clone(), self.generation.number());
        let continuation =
            Continuation::Replacement(Replacement { group, member, generation, leader });
        step.writes.push(Write { records, continuation });
    }

    /// Answers the pending join once the new incarnation is replicated. If a rebalance has begun
    /// meanwhile, the join is part of it and is answered with it.
    pub(in crate::group) fn on_replaced(&mut self, replacement: &Replacement, step: &mut Step) {
        let joined = self.joined(&replacement.member, replacement.leader.as_ref());
        let Some(member) = self.waiting_replacement(replacement) else { return };
        let Some(ticket) = member.take_join() else { return };
        member.restart_session(step);
        let joined = joined.map(|mut joined| {
            joined.skip_assignment = joined.leader == joined.member_id;
            joined
        });
        step.answer(ticket, Answer::Join(joined.ok_or(GroupError::UnknownMemberId)));
    }

    /// Handles the failure to store the new incarnation.
    pub(in crate::group) fn on_replacement_lost(
        &mut self,
        replacement: &Replacement,
        error: &GroupError,
        step: &mut Step,
    ) {
        if let Some(member) = self.waiting_replacement(replacement) {
            member.dismiss(error, step);
            member.restart_session(step);
        }
    }

    fn waiting_replacement(&mut self, replacement: &Replacement) -> Option<&mut Member> {
        let is_current =
            self.generation.is_stable() && self.generation.number() == replacement.generation;
        let member = self.members.get_mut(&replacement.member)?;
        (is_current && member.awaits_join()).then_some(member)
    }
}
