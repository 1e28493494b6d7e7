//! Each rule switched off in the shipped code: a seed whose run breaks an invariant then.
//!
//! `STREAMLOG_ABLATION_SEEDS=n` looks for such a seed among the first n, for every rule.

use std::ops::Range;

use streamlog::replication::{Rule, Rules};

use crate::checkers::Violation;
use crate::scenario::run;
use crate::variable;

const COMPLETE: &str = "in-sync and eligible replicas lack nothing";
const ONE_LEADER: &str = "one leader answers at a time";
const SAME: &str = "replicas are the same below the watermark";
const WATERMARK: &str = "the watermark never falls";

/// The rules, each with a seed that finds its absence and the invariant that is broken first.
const ABLATIONS: &[(Rule, u64, &str)] = &[
    (Rule::FlushedCounts, 0, COMPLETE),
    (Rule::MaximalSet, 39, COMPLETE),
    (Rule::MinimumHolds, 0, COMPLETE),
    (Rule::OwnIncarnation, 4, ONE_LEADER),
    (Rule::TruncateByEpoch, 0, SAME),
    (Rule::JoinAtWatermark, 1, COMPLETE),
    (Rule::JoinAtEpochStart, 2, COMPLETE),
    (Rule::HandOverSilent, 172, ONE_LEADER),
    (Rule::ReadFromEpochStart, 1, WATERMARK),
    (Rule::AnsweredUnderLease, 0, ONE_LEADER),
];

/// The rules whose absence no seed has found; `docs/decisions/0023-simulation.md` has the reasons.
const NOT_FOUND: &[Rule] = &[
    Rule::UnknownStaysMaximal,
    Rule::CompareAndSet,
    Rule::JoinByIncarnation,
    Rule::FetchIsFenced,
    Rule::HandOverUnknown,
    Rule::HandOverAtEnd,
    Rule::TruncateFirst,
    Rule::ReadBehindSync,
    Rule::AcknowledgedInEpoch,
];

/// The number of seeds that are tried if the known one finds nothing: a change of the shipped code
/// may have changed what it does.
const OTHERS: u64 = 300;

#[test]
fn each_rule_prevents_damage() {
    if let Some(seeds) = variable("STREAMLOG_ABLATION_SEEDS") {
        let rules = ABLATIONS.iter().map(|(rule, _, _)| *rule).chain(NOT_FOUND.iter().copied());
        rules.for_each(|rule| println!("{rule:?}: {:?}", first_found(rule, 0..seeds)));
    }
    for (rule, seed, invariant) in ABLATIONS {
        let found = first_found(*rule, *seed..seed + 1).or_else(|| first_found(*rule, 0..OTHERS));
        let Some((finder, Violation { invariant: broken, facts })) = found else {
            panic!("{rule:?} is switched off, and no seed finds damage");
        };
        println!("{rule:?}: seed {finder}: {broken}: {facts}");
        assert!(finder != *seed || broken == *invariant, "{rule:?} off, seed {seed}: {broken}");
    }
}

/// The first of these seeds that finds the absence of a rule.
fn first_found(rule: Rule, mut seeds: Range<u64>) -> Option<(u64, Violation)> {
    seeds.find_map(|seed| {
        let found = run(seed, Rules::ALL.without(rule)).violation?;
        Some((seed, found))
    })
}
