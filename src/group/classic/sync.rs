//! `SyncGroup`: the leader's assignment is appended to the log, and then returned to the members.

use std::sync::Arc;

use bytes::Bytes;

use super::current_generation::{Assignments, Phase, Proposal};
use super::group::Group;
use super::join::within_limit;
use super::member::{Parked, protocol_bytes};
use crate::group::step::{Continuation, Step, Write};
use crate::group::{Answer, Generation, GroupError, MemberId, SyncRequest, Ticket};

impl Group {
    /// Answers now, or when the leader's assignment is replicated.
    pub(in crate::group) fn sync(&mut self, request: SyncRequest, ticket: Ticket, step: &mut Step) {
        if let Err(error) = self.try_sync(request, ticket, step) {
            step.answer(ticket, Answer::Sync(Err(error)));
        }
    }

    fn try_sync(
        &mut self,
        request: SyncRequest,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        let id = self.claimant(&request.claim)?.id.clone();
        let differs = |said: Option<&Arc<str>>, is: Option<&Arc<str>>| {
            said.is_some() && is.is_some() && said != is
        };
        if differs(request.protocol_type.as_ref(), self.generation.protocol_type())
            || differs(request.protocol.as_ref(), self.generation.protocol())
        {
            return Err(GroupError::InconsistentProtocol);
        }
        match self.generation.phase() {
            Phase::Empty => Err(GroupError::UnknownMemberId),
            Phase::Preparing { .. } => Err(GroupError::RebalanceInProgress),
            Phase::Completing { .. } => self.await_assignment(&id, request, ticket, step),
            Phase::Stable { .. } => self.answer_synced(&id, ticket, step),
        }
    }

    fn await_assignment(
        &mut self,
        id: &MemberId,
        request: SyncRequest,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        let leads = self.members.leads(id);
        if leads {
            let assigned: usize = request.assignments.iter().map(|(_, blob)| blob.len()).sum();
            let metadata_bytes: usize =
                self.members.iter().map(|m| protocol_bytes(&m.protocols)).sum();
            within_limit(assigned + metadata_bytes, &step.config)?;
        }
        if let Some(member) = self.members.get_mut(id) {
            member.sync_due = false;
            member.park(Parked::Sync(ticket), step);
        }
        if leads {
            self.propose(request.assignments, step);
        }
        Ok(())
    }

    /// Appends the assignment; a repeated request of the leader is not appended again.
    fn propose(&mut self, assignments: Vec<(MemberId, Bytes)>, step: &mut Step) {
        if !self.generation.awaits_proposal() {
            return;
        }
        let assignments: Assignments = assignments
            .into_iter()
            .filter(|(id, _)| self.members.get(id).is_some())
            // Copy the assignments: they are slices of the request's frame.
            .map(|(id, blob)| (id, Bytes::copy_from_slice(&blob)))
            .collect();
        let record = self.snapshot(|m| assignments.get(&m.id).cloned().unwrap_or_default());
        step.writes.push(Write {
            records: vec![record],
            continuation: Continuation::Assignment(self.id.clone(), self.generation.number()),
        });
        self.generation.propose(assignments);
    }

    /// Handles the replication of the assignment of `generation`: the group becomes stable if it
    /// still waits for this assignment.
    pub(in crate::group) fn on_assigned(&mut self, generation: Generation, step: &mut Step) {
        let Some(proposal) = self.generation.take_proposal(generation) else { return };
        let Proposal { mut assignments, sync_deadline } = proposal;
        for member in self.members.iter_mut() {
            member.assignment = assignments.remove(&member.id).unwrap_or_default();
        }
        self.enter(Phase::Stable { sync_deadline }, step);
        for member in self.members.iter_mut() {
            let Some(ticket) = member.take_sync() else { continue };
            member.restart_session(step);
            let synced = self.generation.synced(member.assignment.clone());
            step.answer(ticket, Answer::Sync(Ok(synced)));
        }
    }

    /// Handles the failure to store the assignment of `generation`: members that wait for it get
    /// `error`, and all must rejoin.
    pub(in crate::group) fn on_assignment_lost(
        &mut self,
        generation: Generation,
        error: &GroupError,
        step: &mut Step,
    ) {
        if self.generation.take_proposal(generation).is_none() {
            return;
        }
        for member in self.members.iter_mut() {
            if let Some(ticket) = member.take_sync() {
                member.restart_session(step);
                step.answer(ticket, Answer::Sync(Err(error.clone())));
            }
        }
        self.prepare_rebalance(step);
    }

    fn answer_synced(
        &mut self,
        id: &MemberId,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        let member = self.members.get_mut(id).ok_or(GroupError::UnknownMemberId)?;
        member.sync_due = false;
        member.extend_session(step);
        let synced = self.generation.synced(member.assignment.clone());
        step.answer(ticket, Answer::Sync(Ok(synced)));
        Ok(())
    }
}
