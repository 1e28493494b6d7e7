//! Heartbeats and session expiry.

use super::current_generation::Phase;
use super::group::Group;
use crate::group::step::Step;
use crate::group::{Claim, GroupError, Unavailable};

impl Group {
    /// Extends the member's session; returns an error if the member must rejoin.
    pub(in crate::group) fn heartbeat(
        &mut self,
        claim: &Claim,
        step: &Step,
    ) -> Result<(), GroupError> {
        self.claimant(claim)?.extend_session(step);
        if self.generation.is_preparing() {
            return Err(GroupError::RebalanceInProgress);
        }
        Ok(())
    }

    /// Starts the sessions of members loaded from the log. If there are more than `group.max.size`,
    /// they must rejoin, which leaves some out.
    pub(in crate::group) fn on_loaded(&mut self, step: &mut Step) {
        for member in self.members.iter_mut() {
            member.restart_session(step);
        }
        if self.members.len() > step.config.max_size {
            self.prepare_rebalance(step);
        }
    }

    /// Redirects pending requests: another broker is the coordinator from now on.
    pub(in crate::group) fn on_unloaded(&mut self, step: &mut Step) {
        for member in self.members.iter_mut() {
            member.dismiss(&Unavailable::NotCoordinator.into(), step);
        }
    }

    /// Handles everything that is due.
    pub(in crate::group) fn on_deadline(&mut self, step: &mut Step) {
        let now = step.now.monotonic;
        self.members.expire_newcomers(now);
        let dead = self.members.ids_where(|m| m.deadline().is_some_and(|deadline| deadline <= now));
        for id in &dead {
            self.remove(id, &GroupError::UnknownMemberId, step);
        }
        if dead.is_empty() {
            self.complete_join_if_all_are_here(step);
        } else {
            self.rebalance_or_complete(step);
        }
        match *self.generation.phase() {
            Phase::Preparing { deadline, .. } if deadline <= now => self.on_join_deadline(step),
            Phase::Completing { sync_deadline, .. } | Phase::Stable { sync_deadline }
                if sync_deadline <= now =>
            {
                self.on_sync_deadline(step);
            }
            _ => {}
        }
    }

    /// Removes the members that have not sent `SyncGroup` in time.
    fn on_sync_deadline(&mut self, step: &mut Step) {
        let idle = self.members.ids_where(|member| member.sync_due);
        for id in &idle {
            self.remove(id, &GroupError::UnknownMemberId, step);
        }
        if !idle.is_empty() {
            self.prepare_rebalance(step);
        }
    }
}
