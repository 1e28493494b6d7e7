//! `LeaveGroup`: removal of members, requested by themselves or by an administrator.

use super::group::Group;
use crate::group::step::Step;
use crate::group::{Answer, GroupError, LeaveRequest, Leaver, Ticket};

impl Group {
    /// Removes members and answers at once. If a crash loses the removal, the session of the member
    /// expires instead.
    pub(in crate::group) fn leave(
        &mut self,
        request: LeaveRequest,
        ticket: Ticket,
        step: &mut Step,
    ) {
        let members_before = self.members.len();
        let results = request.members.into_iter().map(|leaver| {
            let result = self.remove_leaver(&leaver, step);
            (leaver, result)
        });
        let results = results.collect();
        step.answer(ticket, Answer::Leave(Ok(results)));
        if self.members.len() < members_before {
            self.rebalance_or_complete(step);
        } else if self.generation.is_preparing() {
            // The rebalance may have waited only for the newcomer that left.
            self.complete_join_if_all_are_here(step);
        }
    }

    fn remove_leaver(&mut self, leaver: &Leaver, step: &mut Step) -> Result<(), GroupError> {
        let by_name = || leaver.instance_id.as_ref().and_then(|id| self.members.of_instance(id));
        let id = leaver.member_id.as_ref().or_else(by_name).cloned();
        let id = id.ok_or(GroupError::UnknownMemberId)?;
        if self.members.forget_newcomer(&id) {
            return Ok(());
        }
        self.members.find(Some(&id), leaver.instance_id.as_ref())?;
        self.remove(&id, &GroupError::UnknownMemberId, step);
        Ok(())
    }
}
