//! Signs of life, and what happens without them.

use super::group::{Group, Phase};
use crate::group::step::Step;
use crate::group::{Claim, GroupError, Unavailable};

impl Group {
    /// Whether the member need not do anything; it was heard in any case.
    pub(in crate::group) fn heartbeat(
        &mut self,
        claim: &Claim,
        step: &Step,
    ) -> Result<(), GroupError> {
        self.claimant(claim)?.heard(step);
        match self.phase {
            Phase::Preparing { .. } => Err(GroupError::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    /// Begins the sessions of members that came from the log. More of them than are allowed join
    /// again, which leaves some out.
    pub(in crate::group) fn on_loaded(&mut self, step: &mut Step) {
        for member in self.roster.iter_mut() {
            member.restart_session(step);
        }
        if self.roster.len() > step.config.max_size {
            self.prepare_rebalance(step);
        }
    }

    /// Another broker coordinates from now on: whoever waits is sent there.
    pub(in crate::group) fn on_unloaded(&mut self, step: &mut Step) {
        for member in self.roster.iter_mut() {
            member.dismiss(&Unavailable::NotCoordinator.into(), step);
        }
    }

    /// Does what time has made due.
    pub(in crate::group) fn on_deadline(&mut self, step: &mut Step) {
        let now = step.now.monotonic;
        self.pending.retain(|_, deadline| *deadline > now);
        let dead = self.roster.ids_where(|m| m.deadline().is_some_and(|deadline| deadline <= now));
        for id in &dead {
            self.remove(id, &GroupError::UnknownMemberId, step);
        }
        if dead.is_empty() {
            self.complete_join_if_all_are_here(step);
        } else {
            self.rebalance_or_complete(step);
        }
        match self.phase {
            Phase::Preparing { deadline, .. } if deadline <= now => self.on_join_deadline(step),
            Phase::Completing { sync_deadline, .. } | Phase::Stable { sync_deadline }
                if sync_deadline <= now =>
            {
                self.on_sync_deadline(step);
            }
            _ => {}
        }
    }

    /// Who has not asked for its assignment by now does not work on it: it is removed.
    fn on_sync_deadline(&mut self, step: &mut Step) {
        let idle = self.roster.ids_where(|member| member.sync_due);
        for id in &idle {
            self.remove(id, &GroupError::UnknownMemberId, step);
        }
        if !idle.is_empty() {
            self.prepare_rebalance(step);
        }
    }
}
