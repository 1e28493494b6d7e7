//! Each rule switched off in the shipped code: a seed whose run breaks an invariant then.
//!
//! `STREAMLOG_ABLATION_SEEDS=n` looks for such seeds among the first n: for every rule, or for
//! those that `STREAMLOG_ABLATION_RULES=A,B` names.

use streamlog::metadata::{ElectionRule, ElectionRules};
use streamlog::replication::{Rule, Rules};

use crate::seeds::{assert_found, finders};
use crate::variable;
use crate::zoo::Planted;

/// The rules, each with a seed that finds its absence.
const ABLATIONS: &[(Rule, u64)] = &[
    (Rule::FlushedCounts, 0),
    (Rule::MaximalSet, 18),
    (Rule::MinimumHolds, 2),
    (Rule::UnknownStaysMaximal, 13),
    (Rule::OwnIncarnation, 11),
    (Rule::TruncateByEpoch, 0),
    (Rule::JoinAtWatermark, 0),
    (Rule::JoinAtEpochStart, 20),
    (Rule::HandOverUnknown, 194),
    (Rule::ReadFromEpochStart, 2),
    (Rule::AnsweredUnderLease, 1),
    (Rule::WaitForAsked, 1),
];

/// The rules of elections, each with a seed that finds its absence.
const ELECTIONS: &[(ElectionRule, u64)] = &[
    (ElectionRule::EndsAreCompared, 10),
    (ElectionRule::GreatestEnd, 47),
    (ElectionRule::LateReturn, 62),
    (ElectionRule::TokenShowsDisk, 5),
    (ElectionRule::MissingIsDamage, 9),
    (ElectionRule::LossIsLookedFor, 23),
    (ElectionRule::NobodyElse, 0),
    (ElectionRule::LeaversStayEligible, 62),
    (ElectionRule::MinimumAwaitsLeader, 102),
];

/// The rules of elections whose absence no seed has found. The model and the unit tests in
/// `src/metadata/controller` show it: only one disk at a time loses records here, so the replica
/// with the greatest log has them all.
const ELECTIONS_NOT_FOUND: &[ElectionRule] = &[
    ElectionRule::EligibleReport,
    ElectionRule::TwoReport,
    ElectionRule::FloorExcludes,
    ElectionRule::LastSetIsKept,
    ElectionRule::LostDataExcludes,
];

/// The rules whose absence harms no record in any seed; `docs/decisions/0023-simulation.md`, 0025
/// for proof and silence, and 0030 for caching have the reasons.
const NOT_FOUND: &[Rule] = &[
    Rule::CompareAndSet,
    Rule::JoinByIncarnation,
    Rule::NoProofWithEligible,
    Rule::CachingEndsFlushed,
    Rule::CachingRecorded,
    Rule::CachingVoidsFloors,
    Rule::CachingEndsInEpoch,
    Rule::CachingEndsFirst,
    Rule::CachingEndsTogether,
    Rule::JoinWithPromised,
    Rule::FetchIsFenced,
    Rule::HandOverSilent,
    Rule::HandOverAtEnd,
    Rule::TruncateFirst,
    Rule::ReadBehindSync,
    Rule::AcknowledgedInEpoch,
    Rule::ProofByAll,
    Rule::ProofFromSending,
    Rule::ProofEndsFirst,
    Rule::RestartWaits,
    Rule::WaitChangesNothing,
];

/// The second line of defence after a loss, behind the comparison of logs (R21), which no seed gets
/// past: the model, and the unit tests that `docs/replication.md` lists, show what each prevents.
const SECOND_LINE: &[Rule] = &[
    Rule::UnvouchedAppendsNothing,
    Rule::UnvouchedChangesNothing,
    Rule::UnvouchedTellsNoEnd,
    Rule::FloorHolds,
    Rule::LossEndsFloors,
    Rule::FloorAboveEnd,
    Rule::FloorAboveDivergence,
];

#[test]
fn each_rule_prevents_damage() {
    if let Some(seeds) = variable("STREAMLOG_ABLATION_SEEDS") {
        for found in found_by(seeds) {
            println!("{found}");
        }
    }
    for (rule, seed) in ABLATIONS {
        println!("{}", assert_found(&format!("{rule:?}"), without(*rule), *seed));
    }
    for (rule, seed) in ELECTIONS {
        println!("{}", assert_found(&format!("{rule:?}"), electing_without(*rule), *seed));
    }
}

/// Tells how many of the first seeds find the absence of each rule that is wanted.
fn found_by(seeds: u64) -> impl Iterator<Item = String> {
    let wanted = std::env::var("STREAMLOG_ABLATION_RULES").ok();
    let is_wanted = |name: &String| {
        wanted.as_ref().is_none_or(|wanted| wanted.split(',').any(|one| one == name))
    };
    let rules = ABLATIONS.iter().map(|(rule, _)| rule).chain(NOT_FOUND).chain(SECOND_LINE);
    let rules = rules.map(|rule| (format!("{rule:?}"), without(*rule)));
    let elections = ELECTIONS.iter().map(|(rule, _)| rule).chain(ELECTIONS_NOT_FOUND);
    let elections = elections.map(|rule| (format!("{rule:?}"), electing_without(*rule)));
    let all: Vec<_> = rules.chain(elections).collect();
    for name in wanted.iter().flat_map(|wanted| wanted.split(',')) {
        assert!(all.iter().any(|(known, _)| known == name), "no rule is called {name}");
    }
    let wanted: Vec<_> = all.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    wanted.into_iter().map(move |(name, planted)| finders(&name, planted, seeds))
}

fn electing_without(rule: ElectionRule) -> Planted {
    Planted::electing_under(ElectionRules::ALL.without(rule))
}

fn without(rule: Rule) -> Planted {
    Planted::under(Rules::ALL.without(rule))
}
