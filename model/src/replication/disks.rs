//! Damage to disks and to the state node: by hand, by a lie about a flush, or by a wrong backup.

use super::model::{Replication, Steps};
use super::state::{DiskCopy, Floor, Replica, State};
use super::{Action, rules};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::Rules;

impl Replication {
    pub(super) fn disk_steps(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        self.wipe(state, id, steps);
        self.copy(state, id, steps);
        if !state.replicas[id].running {
            self.cut(state, id, steps);
            self.restore(state, id, steps);
        }
    }

    fn wipe(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        if state.spent.wipes == self.bounds.wipes {
            return;
        }
        let replica = &state.replicas[id];
        let mut next = *state;
        next.spent.wipes += 1;
        next.replicas[id] = Replica {
            incarnation: replica.incarnation,
            directory: replica.directory + 1,
            ..Replica::default()
        };
        steps.push((Action::Wipe(id), next));
    }

    /// Removes the end of a log, or all of it, in the same directory. The recorded watermark is
    /// left, is that of an earlier time, or is gone.
    fn cut(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        for end in 0..replica.log.end {
            for floor in 0..=replica.floor.end {
                let floor = Floor { end: floor, ..replica.floor };
                let mut cut = *replica;
                cut.log = replica.log.recovered(end);
                cut.floor = floor;
                cut.watermark = replica.watermark.min(floor.end).min(end);
                if let Some(mut next) = self.damaged(state, id, &cut) {
                    next.replicas[id] = Replica { damaged: true, ..cut };
                    steps.push((Action::Cut(id), next));
                }
            }
        }
    }

    /// Copies a disk. A copy of an earlier registration counts as another disk (R7, R20), so only
    /// those of the last one are kept.
    fn copy(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let replica = &state.replicas[id];
        let copied = BrokerId::ALL.into_iter().any(|id| state.replicas[id].copy.is_some());
        let possible = self.bounds.copies && state.spent.damages < self.bounds.damages;
        if !possible || copied || !replica.running {
            return;
        }
        let mut next = *state;
        next.replicas[id].copy = Some(DiskCopy { log: replica.log, floor: replica.floor });
        steps.push((Action::Copy(id), next));
    }

    fn restore(&self, state: &State, id: BrokerId, steps: &mut Steps) {
        let Some(copy) = state.replicas[id].copy else { return };
        let mut restored = state.replicas[id];
        restored.log = copy.log.recovered(copy.log.end);
        restored.floor = copy.floor;
        restored.watermark = copy.floor.end.min(copy.log.end);
        restored.lost = false;
        restored.copy = None;
        if let Some(mut next) = self.damaged(state, id, &restored) {
            next.replicas[id] = Replica { damaged: true, ..restored };
            if next != *state {
                steps.push((Action::Restore(id), next));
            }
        }
    }

    /// The state in which a disk may be damaged. Damage that leaves no evidence is no fault of the
    /// model if the disk is the last one with a record that was shown.
    fn damaged(&self, state: &State, id: BrokerId, damaged: &Replica) -> Option<State> {
        let flag = (state.node.caches, state.node.cleared);
        let floor = rules::counted_floor(Rules::ALL, state, damaged, flag);
        let is_evident = floor > damaged.log.end;
        let allowed = state.spent.damages < self.bounds.damages && state.told.end > 0;
        if !allowed || !is_evident && !others_hold_all(state, id) {
            return None;
        }
        let mut next = *state;
        next.spent.damages += 1;
        self.lose_unpromised(&mut next);
        Some(next)
    }

    /// Deletes the state node while no broker runs.
    pub(super) fn delete_state(&self, state: &State, steps: &mut Steps) {
        let stopped = BrokerId::ALL.into_iter().all(|id| !state.replicas[id].running);
        if !self.bounds.deletion || !state.node.exists || !stopped {
            return;
        }
        let mut next = *state;
        let node = &mut next.node;
        (node.exists, node.leader, node.epoch) = (false, None, 0);
        (node.in_sync, node.eligible) = (BrokerSet::EMPTY, BrokerSet::EMPTY);
        node.forget_directories();
        next.node_changed();
        steps.push((Action::DeleteState, next));
    }
}

/// Returns whether another in-sync or eligible replica has all records that were shown.
fn others_hold_all(state: &State, id: BrokerId) -> bool {
    let node = &state.node;
    let members = (node.in_sync | node.eligible).without(id);
    // A member may be on its way out of the set.
    let settled = BrokerId::ALL.into_iter().all(|author| state.writes[author].is_none());
    settled
        && members.iter().any(|member| {
            let replica = &state.replicas[member];
            let same_disk = replica.directory == node.directory[member];
            same_disk && !replica.damaged && state.holds_all_shown(member)
        })
}
