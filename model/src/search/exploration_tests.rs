//! Searches of a machine whose states can be counted by hand.

use super::{Invariant, Model, Outcome, search};
use crate::brokers::{BrokerId, PerBroker, Renaming};

/// Three counters, of which a step increments one.
struct Counters {
    max: u8,
    forbidden_sum: u8,
}

const SUM: Invariant = Invariant { code: "I0", text: "the sum is not the forbidden one" };

impl Model for Counters {
    type State = PerBroker<u8>;
    type Action = BrokerId;

    fn initial(&self) -> PerBroker<u8> {
        PerBroker::default()
    }

    fn successors(&self, state: &PerBroker<u8>, steps: &mut Vec<(BrokerId, PerBroker<u8>)>) {
        for id in BrokerId::ALL.into_iter().filter(|&id| state[id] < self.max) {
            let mut next = *state;
            next[id] += 1;
            steps.push((id, next));
        }
    }

    fn renamed(state: &PerBroker<u8>, renaming: &Renaming) -> PerBroker<u8> {
        renaming.table(state, |count| *count)
    }

    fn rank(_: &PerBroker<u8>, _: BrokerId) -> u64 {
        0
    }

    fn violation(&self, state: &PerBroker<u8>) -> Option<Invariant> {
        (state.0.iter().sum::<u8>() == self.forbidden_sum).then_some(SUM)
    }

    fn describe(&self, id: BrokerId, _: &PerBroker<u8>, after: &PerBroker<u8>) -> String {
        format!("{id} counts {}", after[id])
    }
}

#[test]
fn states_that_differ_by_names_count_once() {
    let report = search(&Counters { max: 9, forbidden_sum: u8::MAX }, u32::MAX);
    assert!(matches!(report.outcome, Outcome::Exhausted));
    // Multisets of three numbers from 0 to 9.
    assert_eq!((report.states, report.depth), (220, 27));
}

#[test]
fn a_search_ends_at_its_bound() {
    let report = search(&Counters { max: 9, forbidden_sum: u8::MAX }, 100);
    assert!(matches!(report.outcome, Outcome::Bounded));
    assert_eq!(report.states, 100);
}

#[test]
fn a_violation_comes_with_a_shortest_path() {
    let report = search(&Counters { max: 9, forbidden_sum: 3 }, u32::MAX);
    let Outcome::Violated(invariant, path) = report.outcome else {
        panic!("nothing was found");
    };
    assert_eq!(invariant, SUM);
    assert_eq!(path, ["A counts 1", "A counts 2", "A counts 3"]);
    assert_eq!(report.depth, 3);
}
