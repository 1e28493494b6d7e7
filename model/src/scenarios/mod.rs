//! The searches: all rules under several bounds, and each rule switched off.

mod ablations;
mod bounds;

pub use ablations::{ABLATIONS, SILENT};

use bounds::{
    ACCEPTED_LOSS, CACHING_AND_EXPIRY, CACHING_AND_LOSSES, CACHING_AND_MINIMUM, CACHING_AND_STOP,
    CACHING_AND_WAIT, CACHING_BEGINS, CACHING_TWO_RECORDS, DAMAGE_AND_EXPIRY, DAMAGE_AND_MINIMUM,
    DAMAGE_AND_STOP, DAMAGE_AND_WAIT, DAMAGE_AND_WIPE, DELETION, EVERY_FAULT, EXPIRY, KILLED,
    KILLED_TWICE, LOST_DISKS, MINIMUM_AND_EXPIRY, MINIMUM_OF_ONE, MINIMUM_OF_ONE_AND_WAIT,
    MINIMUM_OF_THREE, OLDER_COPY, STOP, STOP_AND_EXPIRY, THREE_EPOCHS, TWO_OUTAGES,
    TWO_OUTAGES_AND_WAIT, WIPE,
};

use crate::leadership::{self, LeadershipModel};
use crate::replication::{self, Checks, Replication};
use crate::rule::{Rule, Rules};
use crate::search::{Report, search};

/// A part of the model with its bounds.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Logs, disks and the in-sync set.
    Replication(replication::Bounds, Checks),
    /// Leases, proof and hand-over.
    Leadership(leadership::Bounds),
}

impl Part {
    /// Explores at most `states_max` states of the part under a set of rules.
    pub fn search(self, rules: Rules, states_max: u32) -> Report {
        match self {
            Self::Replication(bounds, checks) => {
                search(&Replication { rules, bounds, checks }, states_max)
            }
            Self::Leadership(bounds) => search(&LeadershipModel { rules, bounds }, states_max),
        }
    }
}

/// A search with every rule in force.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The name: a summary of the events.
    pub name: &'static str,
    /// The part and its bounds.
    pub part: Part,
    /// The number of states at which the search ends.
    pub states_max: u32,
    /// The number of states that the search must reach to count.
    pub states_min: u32,
}

/// A search with rules switched off, which finds the damage that they prevent.
#[derive(Clone, Copy, Debug)]
pub struct Ablation {
    /// The rules switched off: a single rule, or two that cover for each other.
    pub off: &'static [Rule],
    /// The part and its bounds.
    pub part: Part,
    /// The number of the invariant that breaks first.
    pub breaks: &'static str,
}

/// A rule without which this model finds nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent {
    /// The rule.
    pub rule: Rule,
    /// The part in which it was switched off, and its bounds.
    pub part: Part,
    /// The reason why nothing is found.
    pub reason: &'static str,
}

const fn replicated(name: &'static str, bounds: replication::Bounds, min: u32) -> Scenario {
    let part = Part::Replication(bounds, Checks::All);
    Scenario { name, part, states_max: u32::MAX, states_min: min }
}

/// The searches of `make test-model`. All but the last reach every state within their bounds.
pub const SCENARIOS: &[Scenario] = &[
    replicated("a session expires while its broker lives", EXPIRY, 124_000),
    replicated("a broker is killed or loses power", STOP, 69_000),
    replicated("a disk is replaced by an empty one", WIPE, 87_000),
    replicated("the minimum changes, a session expires", MINIMUM_AND_EXPIRY, 750_000),
    replicated("a broker loses power, a session expires", STOP_AND_EXPIRY, 1_700_000),
    replicated("a session expires, three epochs, slow flushes", THREE_EPOCHS, 239_000),
    replicated(
        "an outage, a log is cut, a broker is killed, a wait is over",
        DAMAGE_AND_STOP,
        600_000,
    ),
    replicated("an outage, a log is cut, a wait is over, two records", DAMAGE_AND_WAIT, 280_000),
    replicated("the same with a minimum of one", MINIMUM_OF_ONE_AND_WAIT, 150_000),
    replicated("the same with a minimum of three", MINIMUM_OF_THREE, 90_000),
    replicated(
        "an outage, a log is cut, a broker is killed, a minimum of one",
        MINIMUM_OF_ONE,
        150_000,
    ),
    replicated("an outage, a disk is replaced by an older copy, two records", OLDER_COPY, 850_000),
    replicated("an outage, a log is cut, a person accepts the loss", ACCEPTED_LOSS, 150_000),
    replicated(
        "an outage, a log is cut, the minimum changes, a wait is over",
        DAMAGE_AND_MINIMUM,
        55_000,
    ),
    replicated("an outage, a log is cut, a session expires", DAMAGE_AND_EXPIRY, 180_000),
    replicated(
        "an outage, a log is cut, a disk is replaced by an empty one",
        DAMAGE_AND_WIPE,
        200_000,
    ),
    replicated("two outages, a log is cut", TWO_OUTAGES, 80_000),
    replicated("an outage, the state node is deleted", DELETION, 2_000),
    replicated("a partition caches, a broker loses power", CACHING_AND_STOP, 1_600_000),
    replicated("an outage, caching is switched on and off", CACHING_BEGINS, 480_000),
    replicated("an outage, caching is switched off, answers are lost", CACHING_AND_LOSSES, 220_000),
    replicated(
        "an outage, caching is switched off, the minimum changes",
        CACHING_AND_MINIMUM,
        440_000,
    ),
    replicated(
        "an outage, caching is switched off, a log is cut, a wait is over",
        CACHING_AND_WAIT,
        700_000,
    ),
    Scenario {
        name: "leases end, leaders hand over, a session expires, a broker is killed",
        part: Part::Leadership(KILLED),
        states_max: 1_500_000,
        states_min: 1_500_000,
    },
];

/// The searches of `make test-faults`.
pub const DEEP: &[Scenario] = &[
    replicated(
        "two outages, a log is cut, a wait is over, two records",
        TWO_OUTAGES_AND_WAIT,
        5_000_000,
    ),
    replicated(
        "an outage, caching is switched off and on, two records",
        CACHING_TWO_RECORDS,
        6_000_000,
    ),
    Scenario {
        name: "a partition caches, a session expires, a broker loses power, a wait is over",
        part: Part::Replication(CACHING_AND_EXPIRY, Checks::All),
        states_max: 20_000_000,
        states_min: 20_000_000,
    },
    Scenario {
        name: "an outage, every kind of damage and other fault once, two records, slow flushes",
        part: Part::Replication(LOST_DISKS, Checks::All),
        states_max: 20_000_000,
        states_min: 20_000_000,
    },
    Scenario {
        name: "two records, three epochs, each fault once, slow flushes",
        part: Part::Replication(EVERY_FAULT, Checks::All),
        states_max: 100_000_000,
        states_min: 100_000_000,
    },
    Scenario {
        name: "leases end, leaders hand over, two sessions expire, two brokers are killed",
        part: Part::Leadership(KILLED_TWICE),
        states_max: 30_000_000,
        states_min: 30_000_000,
    },
];
