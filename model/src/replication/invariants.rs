//! The statements that must hold in every state.

use super::model::Checks;
use super::rules;
use super::state::State;
use crate::brokers::BrokerId;
use crate::rule::Rules;
use crate::search::Invariant;

const ACKNOWLEDGED: Invariant = Invariant {
    code: "I12",
    text: "every acknowledged record is in the log of every later leader, at its offset",
};
const EXPOSED: Invariant = Invariant {
    code: "I13",
    text: "every record that was shown is in the log of every later leader, at its offset",
};
const WATERMARK: Invariant =
    Invariant { code: "I14", text: "the high watermark that clients see never falls" };
const ONE_LEADER: Invariant = Invariant { code: "I9", text: "a leader epoch has one leader" };
const IN_SYNC: Invariant = Invariant {
    code: "I10",
    text: "every in-sync replica has every record that was shown, flushed",
};
const AGREED: Invariant = Invariant {
    code: "I11",
    text: "any two replicas have the same records below both of their watermarks",
};
const SAME_RECORD: Invariant =
    Invariant { code: "I33", text: "an offset and a leader epoch name one record in all logs" };
const ELIGIBLE: Invariant = Invariant {
    code: "I32",
    text: "every eligible replica has every record that was shown, flushed",
};

const KEPT: Invariant = Invariant {
    code: "I36",
    text: "no replica removes a record below its recorded watermark, or the last copy of one shown",
};
const NO_GAP: Invariant =
    Invariant { code: "I37", text: "no leader goes on that was told of records which it has lost" };
const RIGHTLY_STRUCK: Invariant =
    Invariant { code: "I38", text: "no leader is struck out that has every record that was shown" };

/// The first invariant that does not hold.
pub(super) fn violation(rules: Rules, checks: Checks, state: &State) -> Option<Invariant> {
    let kept = lost_bytes(state);
    if kept.is_some() || checks == Checks::Bytes {
        return kept;
    }
    let promise = broken_promise(rules, state);
    if promise.is_some() || checks == Checks::Promises {
        return promise;
    }
    let holds = |id| is_member_whole(state, id);
    if !one_leader_each_epoch(state) {
        Some(ONE_LEADER)
    } else if !state.node.in_sync.iter().all(holds) {
        Some(IN_SYNC)
    } else if !state.node.eligible.iter().all(holds) {
        Some(ELIGIBLE)
    } else if !offsets_name_one_record(state) {
        Some(SAME_RECORD)
    } else if !watermarks_agree(state) {
        Some(AGREED)
    } else {
        None
    }
}

/// The first promise to clients that is broken.
fn broken_promise(rules: Rules, state: &State) -> Option<Invariant> {
    let told = &state.told;
    let judged = |id: &BrokerId| state.is_leader(*id) && !told.excused;
    for id in BrokerId::ALL.into_iter().filter(judged) {
        let replica = &state.replicas[id];
        for (offset, shown) in (0..told.end).zip(&told.exposed) {
            if replica.log.record(offset) != *shown {
                let acknowledged = told.acknowledged >> offset & 1 == 1;
                return Some(if acknowledged { ACKNOWLEDGED } else { EXPOSED });
            }
        }
        if rules::may_be_read(rules, replica) && replica.watermark < told.end {
            return Some(WATERMARK);
        }
    }
    told.withdrawn.then_some(EXPOSED)
}

/// The first invariant about disks, and about leaders that lack records, that does not hold.
fn lost_bytes(state: &State) -> Option<Invariant> {
    let told = &state.told;
    if told.destroyed {
        Some(KEPT)
    } else if told.defied {
        Some(NO_GAP)
    } else {
        told.accused.then_some(RIGHTLY_STRUCK)
    }
}

/// Returns whether no two brokers lead the same epoch, each in its own view.
fn one_leader_each_epoch(state: &State) -> bool {
    BrokerId::ALL.into_iter().filter(|&id| state.leads(id)).all(|id| {
        id.others().all(|other| {
            !state.leads(other) || state.replicas[other].epoch != state.replicas[id].epoch
        })
    })
}

/// Returns whether a member has every shown record on its disk. One that was replaced or damaged
/// need not, nor a member of a leader that is excused.
fn is_member_whole(state: &State, id: BrokerId) -> bool {
    let replica = &state.replicas[id];
    let same_disk = replica.directory == state.node.directory[id] && !replica.damaged;
    !same_disk || state.told.excused || state.holds_all_shown(id)
}

/// Returns whether the records below the watermarks of any two replicas are the same.
fn watermarks_agree(state: &State) -> bool {
    // A loss that was accepted, or a loss of power in a partition that caches.
    if state.spent.waits + state.spent.acceptances > 0 || state.told.powerless {
        return true;
    }
    BrokerId::ALL.into_iter().all(|id| {
        id.others().all(|other| {
            let (one, two) = (&state.replicas[id], &state.replicas[other]);
            let end = one.watermark.min(two.watermark);
            one.log.up_to(end) == two.log.up_to(end)
        })
    })
}

/// Returns whether no two logs have different records of one epoch at one offset.
fn offsets_name_one_record(state: &State) -> bool {
    let logs = |id: BrokerId| &state.replicas[id].log;
    BrokerId::ALL.into_iter().all(|id| {
        id.others().all(|other| {
            (0..logs(id).end.min(logs(other).end)).all(|offset| {
                let (one, two) = (logs(id).record(offset), logs(other).record(offset));
                one == two || one.epoch() != two.epoch()
            })
        })
    })
}
