//! A static member that comes back in a new life takes its old place.
//!
//! The old life is fenced at once, in memory, even if the record of the new one is refused: the
//! client was then told to try again, and gets the place again by its static name.

use super::{Group, Parked, Phase};
use crate::group::step::Step;
use crate::group::{Answer, GroupError, JoinRequest, MemberId, Ticket};

impl Group {
    pub(super) fn replace(
        &mut self,
        old: &MemberId,
        new: MemberId,
        request: JoinRequest,
        ticket: Ticket,
        step: &mut Step,
    ) {
        let can_skip_assignment = request.can_skip_assignment;
        let leader_before = self.leader.clone();
        let Some(mut member) = self.roster.remove(old) else {
            step.answer(ticket, Answer::Join(Err(GroupError::UnknownMemberId)));
            return;
        };
        member.dismiss(&GroupError::FencedInstanceId, step);
        member.id = new.clone();
        member.update(request);
        member.restart_session(step);
        self.roster.insert(member);
        if leader_before.as_ref() == Some(old) {
            self.leader = Some(new.clone());
        }
        let keeps_generation = matches!(self.phase, Phase::Stable { .. })
            && self.roster.select_protocol() == self.protocol;
        if keeps_generation {
            // A leader that cannot skip the assignment is told that the old life leads, so that it
            // does not assign.
            let leader = if can_skip_assignment { self.leader.clone() } else { leader_before };
            self.answer_replaced(&new, leader.as_ref(), ticket, step);
            return;
        }
        if let Some(member) = self.roster.get_mut(&new) {
            member.park(Parked::Join(ticket), step);
        }
        // In CompletingRebalance too: the leader may have assigned to the old life by now.
        self.rebalance_or_complete(step);
    }

    fn answer_replaced(
        &mut self,
        id: &MemberId,
        leader: Option<&MemberId>,
        ticket: Ticket,
        step: &mut Step,
    ) {
        let record = self.snapshot(|member| member.assignment.clone());
        let mut joined = self.joined(id, leader);
        if let Some(joined) = &mut joined {
            joined.skip_assignment = joined.leader == *id;
        }
        let answer = Answer::Join(joined.ok_or(GroupError::UnknownMemberId));
        step.answer_after(vec![record], ticket, answer);
    }
}
