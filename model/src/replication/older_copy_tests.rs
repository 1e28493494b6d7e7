//! The limit of comparing replicas by the last epoch and the end of their logs.

use super::log::{Log, Record};
use super::model::{Bounds, Checks, Replication, Steps};
use super::state::{DiskCopy, Floor, Leadership, State};
use super::{Action, invariants};
use crate::brokers::BrokerId::{A, B, C};
use crate::brokers::{BrokerId, BrokerSet, Renaming};
use crate::rule::Rules;
use crate::search::{Invariant, Model, Outcome, search};

/// The model from a given state on.
struct From {
    model: Replication,
    state: State,
}

impl Model for From {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        self.state
    }

    fn successors(&self, state: &State, steps: &mut Steps) {
        self.model.successors(state, steps);
    }

    fn renamed(state: &State, renaming: &Renaming) -> State {
        state.renamed(renaming)
    }

    fn rank(state: &State, id: BrokerId) -> u64 {
        state.rank(id)
    }

    fn violation(&self, state: &State) -> Option<Invariant> {
        invariants::violation(self.model.rules, self.model.checks, state)
    }

    fn describe(&self, action: Action, before: &State, after: &State) -> String {
        action.describe(before, after)
    }
}

fn log(record: Record) -> Log {
    let mut log = Log::default();
    log.append(record);
    log.flush_all();
    log
}

/// A leads epoch 3 with B. Its record of epoch 1 became acknowledged in epoch 3, which has none of
/// its own. B had followed C in epoch 2, truncated a record of that epoch, and was copied before.
fn acknowledged_in_a_later_epoch() -> State {
    let acknowledged = Record::new(1, 1);
    let mut state = State::new(2);
    let node = &mut state.node;
    (node.epoch, node.in_sync) = (3, BrokerSet::only(A).with(B));
    node.forget_directories();
    let node = state.node;
    for id in [A, B, C] {
        let replica = &mut state.replicas[id];
        (replica.epoch, replica.log) = (3, log(acknowledged));
        replica.watermark = 1;
        replica.record_floor(1);
    }
    state.replicas[A].leading = Leadership::of(&node, 1);
    let copy = DiskCopy { log: log(Record::new(2, 2)), floor: Floor::default() };
    state.replicas[B].copy = Some(copy);
    (state.told.exposed[0], state.told.end, state.told.acknowledged) = (acknowledged, 1, 1);
    state.told.promised = 1;
    state.spent.records = 1;
    state
}

#[test]
fn a_copy_with_a_truncated_record_of_a_later_epoch_counts_as_greater() {
    let bounds =
        Bounds { epochs: 5, outages: 1, damages: 1, copies: true, lossy: false, ..Bounds::NONE };
    let model = Replication { rules: Rules::ALL, bounds, checks: Checks::Promises };
    let state = acknowledged_in_a_later_epoch();
    assert_eq!(model.violation(&state), None);
    let report = search(&From { model, state }, 1_000_000);
    // A known limit, which docs/decisions/0026 describes: the records are kept all the same.
    let Outcome::Violated(invariant, steps) = report.outcome else {
        panic!("the limit is gone: {:?}", report.outcome);
    };
    println!("{}", steps.join("\n"));
    assert_eq!(invariant.code, "I12");
    let state = acknowledged_in_a_later_epoch();
    let kept = Replication { checks: Checks::Bytes, ..model };
    let report = search(&From { model: kept, state }, 1_000_000);
    assert!(matches!(report.outcome, Outcome::Exhausted), "{:?}", report.outcome);
}
