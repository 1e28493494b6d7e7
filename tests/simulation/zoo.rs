//! Known bugs of systems like this one, planted: a seed whose run breaks an invariant with each.
//!
//! Bugs that are a rule switched off are in `ablation.rs`. `STREAMLOG_ZOO_SEEDS=n` counts how many
//! of the first n seeds find each bug. `evidence/simulation.md` has a table of both.

use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::metadata::ElectionRules;
use streamlog::replication::Rules;

use crate::seeds::{assert_found, finders};
use crate::variable;

/// What is wrong in a run on purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    pub(crate) rules: Rules,
    pub(crate) elections: ElectionRules,
    pub(crate) bug: Option<Bug>,
}

/// A bug that is no rule switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A leader acknowledges with `acks=all` what only it has stored.
    AcknowledgedBeforeWatermark,
    /// A leader shows consumers what is above its watermark.
    ReadBeyondWatermark,
    /// New names are never made durable.
    DirectoriesNotSynced,
    /// The bytes of a replaced small file are not durable when its name is.
    RenamedBeforeSynced,
    /// Batches count as flushed without a sync of their file.
    LogsNotSynced,
    /// A failed sync is tried again, and succeeds without what the first has lost.
    FailedSyncRepeated,
}

/// The bugs, each with a seed that finds it.
const ZOO: &[(Bug, u64)] = &[
    (Bug::AcknowledgedBeforeWatermark, 0),
    (Bug::ReadBeyondWatermark, 0),
    (Bug::DirectoriesNotSynced, 1),
    (Bug::RenamedBeforeSynced, 1),
    (Bug::LogsNotSynced, 1),
    (Bug::FailedSyncRepeated, 23),
];

#[test]
fn each_planted_bug_is_found() {
    if let Some(seeds) = variable("STREAMLOG_ZOO_SEEDS") {
        for (bug, _) in ZOO {
            println!("{}", finders(&format!("{bug:?}"), Planted::bug(*bug), seeds));
        }
    }
    for (bug, seed) in ZOO {
        println!("{}", assert_found(&format!("{bug:?}"), Planted::bug(*bug), *seed));
    }
}

impl Planted {
    /// Nothing is wrong.
    pub(crate) const NOTHING: Self =
        Self { rules: Rules::ALL, elections: ElectionRules::ALL, bug: None };

    /// Some rules are not in force.
    pub(crate) const fn under(rules: Rules) -> Self {
        Self { rules, ..Self::NOTHING }
    }

    /// Some rules of elections are not in force.
    pub(crate) const fn electing_under(elections: ElectionRules) -> Self {
        Self { elections, ..Self::NOTHING }
    }

    const fn bug(bug: Bug) -> Self {
        Self { bug: Some(bug), ..Self::NOTHING }
    }

    /// True if this bug is planted.
    pub(crate) fn has(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Plants the bugs of disks in one.
    pub(crate) fn plant_in(self, disk: &FaultyDisk) {
        let (operation, suffix) = match self.bug {
            Some(Bug::DirectoriesNotSynced) => (Operation::SyncDir, ""),
            Some(Bug::RenamedBeforeSynced) => (Operation::SyncData, ".tmp"),
            Some(Bug::LogsNotSynced) => (Operation::SyncData, ".log"),
            _ => return,
        };
        disk.inject(Fault::new(operation, Failure::Ignored).on(suffix).for_ever());
    }

    /// The way in which a sync fails on a bad disk.
    pub(crate) fn failed_sync(self, failure: Failure) -> Failure {
        if self.has(Bug::FailedSyncRepeated) { Failure::Unnoticed } else { failure }
    }
}
