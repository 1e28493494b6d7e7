//! The searches: all rules under several bounds, and each rule switched off.

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

const BASE: replication::Bounds = replication::Bounds { epochs: 2, ..replication::Bounds::NONE };
const EXPIRY: replication::Bounds = replication::Bounds { expiries: 1, ..BASE };
const STOP: replication::Bounds = replication::Bounds { stops: 1, ..BASE };
const WIPE: replication::Bounds = replication::Bounds { wipes: 1, ..BASE };
const MINIMUM: replication::Bounds = replication::Bounds { minimums: 1, ..STOP };
const MINIMUM_AND_EXPIRY: replication::Bounds = replication::Bounds { minimums: 1, ..EXPIRY };
const WIPE_AND_EXPIRY: replication::Bounds = replication::Bounds { wipes: 1, ..EXPIRY };
const STOP_AND_EXPIRY: replication::Bounds = replication::Bounds { stops: 1, ..EXPIRY };
const TWO_EXPIRIES: replication::Bounds =
    replication::Bounds { epochs: 3, expiries: 2, ..replication::Bounds::NONE };
const TWO_RECORDS: replication::Bounds = replication::Bounds { records: 2, ..EXPIRY };
const SLOW_FLUSH: replication::Bounds = replication::Bounds { slow_flush: true, ..TWO_RECORDS };
const THREE_EPOCHS: replication::Bounds =
    replication::Bounds { epochs: 3, slow_flush: true, ..EXPIRY };
const ALL_FAULTS: replication::Bounds = replication::Bounds {
    records: 2,
    epochs: 3,
    stops: 1,
    expiries: 1,
    wipes: 1,
    minimums: 1,
    slow_flush: true,
};
const ALL_ALIVE: leadership::Bounds = leadership::Bounds { epochs: 3, kills: 0, expiries: 1 };
const KILLED: leadership::Bounds = leadership::Bounds { kills: 1, ..ALL_ALIVE };
const KILLED_TWICE: leadership::Bounds = leadership::Bounds { epochs: 4, kills: 2, expiries: 2 };

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
    Scenario {
        name: "leases end, leaders hand over, a session expires, a broker is killed",
        part: Part::Leadership(KILLED),
        states_max: 1_500_000,
        states_min: 1_500_000,
    },
];

/// The searches of `make test-faults`.
pub const DEEP: &[Scenario] = &[
    Scenario {
        name: "two records, three epochs, each fault once, slow flushes",
        part: Part::Replication(ALL_FAULTS, Checks::All),
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

const fn loses(
    off: &'static [Rule],
    bounds: replication::Bounds,
    breaks: &'static str,
) -> Ablation {
    Ablation { off, part: Part::Replication(bounds, Checks::Promises), breaks }
}

const fn breaks(off: &'static [Rule], bounds: replication::Bounds, code: &'static str) -> Ablation {
    Ablation { off, part: Part::Replication(bounds, Checks::All), breaks: code }
}

const fn two_answer(off: &'static [Rule], bounds: leadership::Bounds) -> Ablation {
    Ablation { off, part: Part::Leadership(bounds), breaks: "I31" }
}

/// The rules whose absence a search finds, each with the invariant that breaks first.
pub const ABLATIONS: &[Ablation] = &[
    loses(&[Rule::FlushedCounts], STOP, "I12"),
    breaks(&[Rule::FlushEndsAtTruncation], SLOW_FLUSH, "I10"),
    loses(&[Rule::MaximalSet], EXPIRY, "I12"),
    loses(&[Rule::MinimumHolds], WIPE, "I13"),
    loses(&[Rule::UnknownStaysMaximal], EXPIRY, "I12"),
    breaks(&[Rule::CompareAndSet], EXPIRY, "I32"),
    loses(&[Rule::CompareAndSet, Rule::SessionOwnsWrite], EXPIRY, "I12"),
    loses(&[Rule::OwnIncarnation], replication::Bounds { stops: 1, ..TWO_RECORDS }, "I12"),
    loses(&[Rule::JoinByIncarnation], WIPE_AND_EXPIRY, "I12"),
    two_answer(&[Rule::LeaseEndsFirst], ALL_ALIVE),
    two_answer(&[Rule::ProofByAll], ALL_ALIVE),
    two_answer(&[Rule::ProofFromSending], ALL_ALIVE),
    two_answer(&[Rule::ProofEndsFirst], ALL_ALIVE),
    two_answer(&[Rule::NoProofWithEligible], ALL_ALIVE),
    two_answer(&[Rule::WaitForAsked], KILLED),
    two_answer(&[Rule::RestartWaits], KILLED),
    two_answer(&[Rule::WaitChangesNothing], ALL_ALIVE),
    loses(&[Rule::DirectoryKnown], WIPE, "I12"),
    loses(&[Rule::TruncateByEpoch], STOP_AND_EXPIRY, "I12"),
    loses(&[Rule::JoinAtWatermark], EXPIRY, "I12"),
    loses(&[Rule::JoinAtEpochStart], TWO_EXPIRIES, "I12"),
    loses(&[Rule::ElectFromSet], EXPIRY, "I12"),
    two_answer(&[Rule::ElectFromSet], ALL_ALIVE),
    loses(&[Rule::EligibleHoldsAll], EXPIRY, "I12"),
    loses(&[Rule::EligibleDirectory], WIPE_AND_EXPIRY, "I12"),
    loses(&[Rule::EligibleCleared], MINIMUM, "I12"),
    loses(&[Rule::EligibleClearedByMinimum], STOP, "I12"),
    two_answer(&[Rule::HandOverSilent], ALL_ALIVE),
    two_answer(&[Rule::HandOverUnknown], ALL_ALIVE),
    two_answer(&[Rule::HandOverToLive], ALL_ALIVE),
    breaks(&[Rule::TruncateFirst], TWO_RECORDS, "I11"),
    loses(&[Rule::ReadAfterSync], EXPIRY, "I12"),
    two_answer(&[Rule::ReadAfterSync], ALL_ALIVE),
    loses(&[Rule::ReadFromEpochStart], EXPIRY, "I14"),
];

const fn unseen(rule: Rule, bounds: replication::Bounds, reason: &'static str) -> Silent {
    Silent { rule, part: Part::Replication(bounds, Checks::All), reason }
}

/// The rules whose absence no search finds, each with the reason.
pub const SILENT: &[Silent] = &[
    unseen(
        Rule::SessionOwnsWrite,
        EXPIRY,
        "the first election changes the version, and R3a refuses the old leader's writes then",
    ),
    unseen(
        Rule::FetchIsFenced,
        EXPIRY,
        "a fetch is one step here, compares logs before it counts, and meets no leader of an older \
         epoch, for a broker that registers again leads no longer (R4)",
    ),
    unseen(
        Rule::EligibleAfterSet,
        STOP,
        "an eligible replica holds all that was shown; the rule saves records that were not",
    ),
];
