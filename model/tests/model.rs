//! The model holds under all rules, finds the damage that each of them prevents, and prefers no
//! broker.

use std::collections::HashSet;

use streamlog_model::brokers::Renaming;
use streamlog_model::leadership::{self, LeadershipModel};
use streamlog_model::replication::{self, Checks, Replication};
use streamlog_model::scenarios::{ABLATIONS, Part, SCENARIOS, SILENT};
use streamlog_model::verdict::Verdict;
use streamlog_model::{Model, Rule, Rules};

/// Prints a verdict with its trace, and fails unless it is the expected one.
fn expect(verdict: &Verdict) {
    println!("{}", verdict.row);
    for step in &verdict.steps {
        println!("    {step}");
    }
    assert!(verdict.holds, "not what was expected: {}", verdict.row);
}

#[test]
fn nothing_breaks_with_every_rule_in_force() {
    for scenario in SCENARIOS {
        expect(&scenario.verdict());
    }
    let states: u32 = SCENARIOS.iter().map(|scenario| scenario.states_min).sum();
    assert!(states >= 6_000_000, "{states} states are too few");
}

#[test]
fn without_a_rule_of_replication_an_invariant_breaks() {
    let mut ablations = ABLATIONS.iter().filter(|a| matches!(a.part, Part::Replication(..)));
    ablations.by_ref().for_each(|ablation| expect(&ablation.verdict()));
}

#[test]
fn without_a_rule_of_leadership_two_leaders_answer() {
    let mut ablations = ABLATIONS.iter().filter(|a| matches!(a.part, Part::Leadership(_)));
    ablations.by_ref().for_each(|ablation| expect(&ablation.verdict()));
}

#[test]
fn no_search_misses_the_rules_listed_as_silent() {
    for silent in SILENT {
        expect(&silent.verdict());
    }
}

#[test]
fn every_rule_has_a_search_with_it_alone_switched_off() {
    for rule in Rule::ALL {
        let found = ABLATIONS.iter().any(|ablation| ablation.off == [*rule]);
        let silent = SILENT.iter().any(|silent| silent.rule == *rule);
        assert!(found != silent, "{rule}");
    }
}

/// The states that the first steps lead to.
fn first_states<M: Model>(model: &M, count: usize) -> Vec<M::State> {
    let mut states = vec![model.initial()];
    let mut steps = Vec::new();
    let mut next = 0;
    while states.len() < count {
        steps.clear();
        model.successors(&states[next], &mut steps);
        states.extend(steps.iter().map(|(_, state)| *state));
        next += 1;
    }
    states
}

/// Asserts that renaming the brokers of a state renames those of its successors, and nothing else.
fn prefers_no_broker<M: Model>(model: &M)
where
    M::State: Eq,
{
    let (mut steps, mut renamed_steps) = (Vec::new(), Vec::new());
    for state in first_states(model, 20_000) {
        steps.clear();
        model.successors(&state, &mut steps);
        for renaming in &Renaming::ALL {
            let renamed = M::renamed(&state, renaming);
            renamed_steps.clear();
            model.successors(&renamed, &mut renamed_steps);
            let expected: HashSet<M::State> =
                steps.iter().map(|(_, next)| M::renamed(next, renaming)).collect();
            let found: HashSet<M::State> = renamed_steps.iter().map(|(_, next)| *next).collect();
            assert!(expected == found, "a step prefers a broker for its name");
            assert_eq!(model.violation(&state), model.violation(&renamed));
        }
    }
}

#[test]
fn replication_prefers_no_broker() {
    let bounds = replication::Bounds {
        records: 2,
        epochs: 3,
        stops: 1,
        expiries: 1,
        wipes: 1,
        minimums: 1,
        slow_flush: true,
        outages: 1,
        damages: 1,
        copies: true,
        waits: 1,
        acceptances: 1,
        ..replication::Bounds::NONE
    };
    prefers_no_broker(&Replication { rules: Rules::ALL, bounds, checks: Checks::All });
}

#[test]
fn elections_by_reports_prefer_no_broker() {
    let bounds = replication::Bounds {
        epochs: 5,
        outages: 1,
        damages: 1,
        copies: true,
        waits: 1,
        acceptances: 1,
        minimum: 1,
        lossy: false,
        ..replication::Bounds::NONE
    };
    prefers_no_broker(&Replication { rules: Rules::ALL, bounds, checks: Checks::All });
}

#[test]
fn a_partition_that_caches_prefers_no_broker() {
    let bounds = replication::Bounds {
        epochs: 3,
        stops: 1,
        outages: 1,
        expiries: 1,
        caches: true,
        switches: 2,
        ..replication::Bounds::NONE
    };
    prefers_no_broker(&Replication { rules: Rules::ALL, bounds, checks: Checks::All });
}

#[test]
fn leadership_prefers_no_broker() {
    let bounds = leadership::Bounds { epochs: 3, kills: 1, expiries: 1 };
    prefers_no_broker(&LeadershipModel { rules: Rules::ALL, bounds });
}
