//! The rules of leadership: one predicate each, and the only place where it is decided.

use super::state::{Asked, Broker, Leadership, State, StateNode, Succession};
use crate::brokers::{BrokerId, BrokerSet};
use crate::rule::{Rule, Rules};

/// Returns whether a broker answers clients as the leader: by lease or proof, after its wait.
pub(super) fn answers(rules: Rules, state: &State, id: BrokerId) -> bool {
    let broker = &state.brokers[id];
    state.leads(id)
        && !broker.leading.silent
        && !waits(rules, state, id)
        && (broker.lease || has_proof(rules, &broker.leading, id))
}

/// R6a: returns whether the store may give away the session of a broker that lives.
pub(super) fn may_expire(rules: Rules, broker: &Broker) -> bool {
    !broker.lease || !rules.has(Rule::LeaseEndsFirst)
}

/// R6b, R6e: returns whether all others that could be elected have recently fetched from a leader.
pub(super) fn has_proof(rules: Rules, leading: &Leadership, id: BrokerId) -> bool {
    let set = if rules.has(Rule::ProofByAll) { leading.maximal } else { leading.in_sync };
    let electable_otherwise = leading.eligible && rules.has(Rule::NoProofWithEligible);
    !electable_otherwise && set.without(id).iter().all(|member| leading.proof.contains(member))
}

/// R6c, R6d: ends a follower's fetch and proof 2 s after it sent its last fetch.
pub(super) fn end_proof(rules: Rules, leading: &mut Leadership, follower: BrokerId) {
    if rules.has(Rule::ProofFromSending) {
        leading.fetching = leading.fetching.without(follower);
    }
    if rules.has(Rule::ProofEndsFirst) {
        leading.proof = leading.proof.without(follower);
    }
}

/// R6f: returns whether a new leader's fetch may have given another leader proof in the last 2 s.
pub(super) fn waits(rules: Rules, state: &State, id: BrokerId) -> bool {
    let broker = &state.brokers[id];
    let succession = broker.leading.succession;
    if matches!(succession, Succession::HandedOverBy(_)) {
        // Its predecessor did not wait any more, so no earlier leader can answer; and it is silent.
        return false;
    }
    let counts = |other| succession.predecessor() == Some(other) || rules.has(Rule::WaitForAsked);
    id.others().filter(|&other| counts(other)).any(|other| {
        let ended = match broker.asked[other] {
            Asked::No => true,
            Asked::Incarnation(asked) => asked <= state.ended[other],
            Asked::Unknown => false,
        };
        !ended
    })
}

/// R6g: the fetches that a broker assumes at its start to have sent.
pub(super) fn asked_at_start(rules: Rules) -> Asked {
    if rules.has(Rule::RestartWaits) { Asked::Unknown } else { Asked::No }
}

/// R6h: returns whether a leader may grow the in-sync set and hand over.
pub(super) fn may_change_leader(rules: Rules, state: &State, id: BrokerId) -> bool {
    !waits(rules, state, id) || !rules.has(Rule::WaitChangesNothing)
}

/// R10: returns whether a broker outside the in-sync and eligible replicas may be elected.
pub(super) fn may_elect_anyone(rules: Rules) -> bool {
    !rules.has(Rule::ElectFromSet)
}

/// R15a: returns whether a leader stops answering before it asks the store to hand over.
pub(super) fn is_silent_at_hand_over(rules: Rules) -> bool {
    rules.has(Rule::HandOverSilent)
}

/// R15b: returns whether a leader answers again though its hand-over may have happened.
pub(super) fn may_resume(rules: Rules) -> bool {
    !rules.has(Rule::HandOverUnknown)
}

/// R15c: returns whether the controller may elect another leader.
pub(super) fn may_replace_leader(rules: Rules, state: &State) -> bool {
    let gone = state.registered[state.node.leader] != state.node.incarnation;
    gone || !rules.has(Rule::HandOverToLive)
}

/// R18: returns whether a read settles the writes that were sent before it.
pub(super) fn settles_writes(rules: Rules, state: &State, id: BrokerId) -> bool {
    state.writes[id].is_none() || !rules.has(Rule::ReadAfterSync)
}

/// R13: the eligible replicas after a member has left, or another has joined.
pub(super) fn eligible(node: &StateNode, left: BrokerSet, minimum: u8) -> BrokerSet {
    if node.in_sync.len() >= minimum {
        return BrokerSet::EMPTY;
    }
    let members = node.in_sync.iter();
    members.fold(node.eligible | left, BrokerSet::without)
}
