//! Each rule is needed: with one rule switched off, a known schedule breaks an invariant.

use super::schedule_tests::{Events, run};
use super::{Rule, Rules};
use crate::types::seeds;

/// The schedules that run with all rules in force.
const SCHEDULES: u64 = 4_000;

/// The rules, each with the seed of a schedule and the invariant that it breaks without the rule.
///
/// The invariants have the numbers of `model/`. I10: an in-sync replica lacks a record that was
/// shown. I11: two replicas differ below both of their watermarks. I12: an acknowledged record is
/// lost. I13: a record that was shown is withdrawn. I14: the watermark that clients see falls. I32:
/// an eligible replica lacks a record that was shown. I33: one epoch and offset name two records.
///
/// Some rules are tested elsewhere. The damage without R5 needs a fetch that arrives after its
/// sender has restarted on an empty disk, at a leader that knows of the restart: see
/// `leader_tests.rs`. R15 needs hand-overs: see `hand_over_tests.rs`. R6 needs clients and clocks:
/// see `proof_tests.rs` and `tests/it/failover/leases.rs`.
const ABLATIONS: [(Rule, u64, &str); 14] = [
    (Rule::FlushedCounts, 2, "I10"),
    (Rule::MaximalSet, 15, "I10"),
    (Rule::MinimumHolds, 8, "I32"),
    (Rule::UnknownStaysMaximal, 15, "I10"),
    (Rule::CompareAndSet, 11_362, "I10"),
    (Rule::OwnIncarnation, 1, "I33"),
    (Rule::TruncateByEpoch, 2, "I10"),
    (Rule::FetchIsFenced, 1_162, "I33"),
    (Rule::JoinAtWatermark, 237, "I10"),
    (Rule::JoinAtEpochStart, 12_392, "I10"),
    (Rule::TruncateFirst, 573, "I11"),
    (Rule::ReadBehindSync, 6_523, "I10"),
    (Rule::ReadFromEpochStart, 96, "I14"),
    (Rule::AcknowledgedInEpoch, 13_341, "I12"),
];

#[test]
fn no_schedule_breaks_an_invariant_while_all_rules_hold() {
    let mut total = Events::default();
    for seed in seeds(SCHEDULES) {
        let (broken, events) = run(Rules::ALL, seed);
        assert_eq!(broken, None, "STREAMLOG_SEED={seed}");
        total.elections += events.elections;
        total.truncations += events.truncations;
        total.joins += events.joins;
        total.refusals += events.refusals;
        total.unknown += events.unknown;
        total.acknowledged += events.acknowledged;
    }
    let Events { elections, truncations, joins, refusals, unknown, acknowledged } = total;
    let rarest = [elections, truncations, joins, refusals, unknown, acknowledged].into_iter().min();
    assert!(rarest > Some(100), "the schedules do too little: {total:?}");
}

#[test]
fn each_rule_prevents_damage() {
    for (rule, seed, invariant) in ABLATIONS {
        let (broken, _) = run(Rules::ALL.without(rule), seed);
        assert_eq!(broken, Some(invariant), "{rule:?} switched off, seed {seed}");
        assert_eq!(run(Rules::ALL, seed).0, None, "seed {seed} with all rules");
    }
}
