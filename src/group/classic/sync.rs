//! `SyncGroup`: the leader's assignment is appended to the log, and then returned to the members.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::group::{Group, Phase};
use super::join::within_limit;
use super::member::{Parked, protocol_bytes};
use crate::group::step::{Continuation, Step, Write};
use crate::group::{Answer, Generation, GroupError, MemberId, SyncRequest, Synced, Ticket};

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
        if differs(request.protocol_type.as_ref(), self.protocol_type.as_ref())
            || differs(request.protocol.as_ref(), self.protocol.as_ref())
        {
            return Err(GroupError::InconsistentProtocol);
        }
        match self.phase {
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
        let leads = self.leader.as_ref() == Some(id);
        if leads {
            let assigned: usize = request.assignments.iter().map(|(_, blob)| blob.len()).sum();
            let metadata_bytes: usize =
                self.roster.iter().map(|m| protocol_bytes(&m.protocols)).sum();
            within_limit(assigned + metadata_bytes, &step.config)?;
        }
        if let Some(member) = self.roster.get_mut(id) {
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
        if !matches!(self.phase, Phase::Completing { proposal: None, .. }) {
            return;
        }
        let assignments: BTreeMap<MemberId, Bytes> = assignments
            .into_iter()
            .filter(|(id, _)| self.roster.get(id).is_some())
            // Copy the assignments: they are slices of the request's frame.
            .map(|(id, blob)| (id, Bytes::copy_from_slice(&blob)))
            .collect();
        let record = self.snapshot(|m| assignments.get(&m.id).cloned().unwrap_or_default());
        step.writes.push(Write {
            records: vec![record],
            continuation: Continuation::Assignment(self.id.clone(), self.generation),
        });
        if let Phase::Completing { proposal, .. } = &mut self.phase {
            *proposal = Some(assignments);
        }
    }

    /// Handles the replication of the assignment of `generation`: the group becomes stable if it
    /// still waits for it.
    pub(in crate::group) fn on_assigned(&mut self, generation: Generation, step: &mut Step) {
        let Some((sync_deadline, mut assignments)) = self.take_proposal(generation) else { return };
        for member in self.roster.iter_mut() {
            member.assignment = assignments.remove(&member.id).unwrap_or_default();
        }
        self.enter(Phase::Stable { sync_deadline }, step);
        let (protocol_type, protocol) = (self.protocol_type.clone(), self.protocol.clone());
        for member in self.roster.iter_mut() {
            let Some(ticket) = member.take_sync() else { continue };
            member.restart_session(step);
            let synced = Synced {
                protocol_type: protocol_type.clone().unwrap_or_default(),
                protocol: protocol.clone().unwrap_or_default(),
                assignment: member.assignment.clone(),
            };
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
        if self.take_proposal(generation).is_none() {
            return;
        }
        for member in self.roster.iter_mut() {
            if let Some(ticket) = member.take_sync() {
                member.restart_session(step);
                step.answer(ticket, Answer::Sync(Err(error.clone())));
            }
        }
        self.prepare_rebalance(step);
    }

    fn take_proposal(
        &mut self,
        generation: Generation,
    ) -> Option<(Duration, BTreeMap<MemberId, Bytes>)> {
        match &mut self.phase {
            Phase::Completing { sync_deadline, proposal } if self.generation == generation => {
                Some((*sync_deadline, proposal.take()?))
            }
            _ => None,
        }
    }

    fn answer_synced(
        &mut self,
        id: &MemberId,
        ticket: Ticket,
        step: &mut Step,
    ) -> Result<(), GroupError> {
        let protocol_type = self.protocol_type.clone().unwrap_or_default();
        let protocol = self.protocol.clone().unwrap_or_default();
        let member = self.roster.get_mut(id).ok_or(GroupError::UnknownMemberId)?;
        member.sync_due = false;
        member.extend_session(step);
        let assignment = member.assignment.clone();
        step.answer(ticket, Answer::Sync(Ok(Synced { protocol_type, protocol, assignment })));
        Ok(())
    }
}
