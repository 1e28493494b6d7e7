//! The searches with rules switched off, each with the invariant that breaks first.

use super::bounds::{
    ACCEPTED_LOSS, ALL_ALIVE, CACHING, CACHING_AND_DAMAGE, CACHING_AND_EXPIRY, CACHING_AND_OUTAGE,
    CACHING_BEGINS, DAMAGE, DAMAGE_AND_MINIMUM, DAMAGE_AND_WAIT, DELETION, EXPIRY,
    EXPIRY_THREE_EPOCHS, KILLED, MINIMUM, MINIMUM_AND_OUTAGE, MINIMUM_OF_ONE,
    MINIMUM_OF_ONE_AND_WAIT, OUTAGE, SLOW_FLUSH, STOP, STOP_TWO_RECORDS, TWO_DAMAGES,
    TWO_OUTAGES_AND_WAIT, TWO_RECORDS, WIPE, WIPE_AND_EXPIRY, WIPE_OF_ONE, answered,
};
use super::{Ablation, Part, Silent};
use crate::leadership;
use crate::replication::{self, Checks};
use crate::rule::Rule;

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

const fn serves(off: &'static [Rule], bounds: replication::Bounds) -> Ablation {
    Ablation { off, part: Part::Replication(bounds, Checks::Bytes), breaks: "I37" }
}

const fn two_answer(off: &'static [Rule], bounds: leadership::Bounds) -> Ablation {
    Ablation { off, part: Part::Leadership(bounds), breaks: "I31" }
}

/// The rules whose absence a search finds, each with the invariant that breaks first.
pub const ABLATIONS: &[Ablation] = &[
    loses(&[Rule::FlushedCounts], OUTAGE, "I12"),
    breaks(&[Rule::FlushEndsAtTruncation], answered(SLOW_FLUSH), "I10"),
    loses(&[Rule::MaximalSet], EXPIRY, "I12"),
    loses(&[Rule::MinimumHolds], WIPE, "I13"),
    loses(&[Rule::UnknownStaysMaximal], EXPIRY, "I12"),
    breaks(&[Rule::CompareAndSet], EXPIRY, "I32"),
    loses(&[Rule::CompareAndSet, Rule::SessionOwnsWrite], EXPIRY, "I12"),
    breaks(&[Rule::OwnIncarnation], answered(STOP_TWO_RECORDS), "I33"),
    loses(&[Rule::JoinByIncarnation], answered(WIPE_AND_EXPIRY), "I12"),
    two_answer(&[Rule::LeaseEndsFirst], ALL_ALIVE),
    two_answer(&[Rule::ProofByAll], ALL_ALIVE),
    two_answer(&[Rule::ProofFromSending], ALL_ALIVE),
    two_answer(&[Rule::ProofEndsFirst], ALL_ALIVE),
    two_answer(&[Rule::NoProofWithEligible], ALL_ALIVE),
    two_answer(&[Rule::WaitForAsked], KILLED),
    two_answer(&[Rule::RestartWaits], KILLED),
    two_answer(&[Rule::WaitChangesNothing], ALL_ALIVE),
    loses(&[Rule::DirectoryKnown], WIPE_OF_ONE, "I12"),
    loses(&[Rule::TruncateByEpoch], OUTAGE, "I12"),
    loses(&[Rule::JoinAtWatermark], EXPIRY, "I12"),
    breaks(&[Rule::JoinAtEpochStart], answered(EXPIRY_THREE_EPOCHS), "I10"),
    loses(&[Rule::ElectFromSet], EXPIRY, "I12"),
    two_answer(&[Rule::ElectFromSet], ALL_ALIVE),
    loses(&[Rule::EligibleHoldsAll], EXPIRY, "I12"),
    breaks(&[Rule::EligibleDirectory], answered(WIPE_AND_EXPIRY), "I32"),
    loses(&[Rule::EligibleCleared], MINIMUM, "I12"),
    loses(&[Rule::EligibleClearedByMinimum], STOP, "I12"),
    loses(&[Rule::ClearAfterFlush], CACHING, "I12"),
    loses(&[Rule::UnflushedWithFlag], CACHING_BEGINS, "I12"),
    loses(&[Rule::FlagVoidsFloors], CACHING, "I38"),
    loses(&[Rule::ClearFromEpochStart], CACHING_AND_OUTAGE, "I12"),
    loses(&[Rule::UnflushedUntilClear], CACHING_BEGINS, "I12"),
    breaks(&[Rule::ClearWithoutEligible], CACHING, "I32"),
    breaks(&[Rule::JoinWithPromised], CACHING, "I10"),
    loses(&[Rule::FloorsFromClearing], CACHING, "I38"),
    loses(&[Rule::EligibleReport], CACHING_AND_DAMAGE, "I12"),
    loses(&[Rule::ClearAfterWait], CACHING_AND_EXPIRY, "I12"),
    two_answer(&[Rule::HandOverSilent], ALL_ALIVE),
    two_answer(&[Rule::HandOverUnknown], ALL_ALIVE),
    two_answer(&[Rule::HandOverToLive], ALL_ALIVE),
    loses(&[Rule::MinimumNeedsLeader], MINIMUM_AND_OUTAGE, "I12"),
    breaks(&[Rule::TruncateFirst], answered(TWO_RECORDS), "I11"),
    loses(&[Rule::ReadAfterSync], EXPIRY, "I12"),
    two_answer(&[Rule::ReadAfterSync], ALL_ALIVE),
    loses(&[Rule::EndsAreCompared], DAMAGE, "I12"),
    loses(&[Rule::TwoReport], MINIMUM_OF_ONE, "I12"),
    loses(&[Rule::GreatestEnd], DAMAGE, "I12"),
    loses(&[Rule::FloorExcludes], DAMAGE_AND_WAIT, "I12"),
    loses(&[Rule::LateReturn], DAMAGE_AND_WAIT, "I36"),
    loses(&[Rule::UnvouchedAppendsNothing], TWO_OUTAGES_AND_WAIT, "I12"),
    loses(&[Rule::LastSetIsKept], MINIMUM_OF_ONE, "I12"),
    breaks(&[Rule::UnvouchedAddsNobody], DAMAGE_AND_MINIMUM, "I10"),
    loses(&[Rule::FloorHolds, Rule::FloorAboveDivergence], MINIMUM_OF_ONE_AND_WAIT, "I36"),
    loses(&[Rule::FloorHasGeneration], ACCEPTED_LOSS, "I38"),
    loses(&[Rule::FloorAboveEnd], TWO_DAMAGES, "I37"),
    loses(&[Rule::FloorAboveDivergence], MINIMUM_OF_ONE_AND_WAIT, "I37"),
    serves(&[Rule::EndsAreCompared, Rule::FloorAboveEnd, Rule::FloorAboveDivergence], DAMAGE),
    loses(&[Rule::StateIsKept], DELETION, "I12"),
    loses(&[Rule::EvidenceFirst], MINIMUM_OF_ONE, "I12"),
    loses(&[Rule::LossStays], MINIMUM_OF_ONE, "I12"),
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
        Rule::FloorHolds,
        MINIMUM_OF_ONE_AND_WAIT,
        "each fetch tells the recorded watermark, so the leader stops before it answers (R25)",
    ),
    unseen(
        Rule::EligibleOnlyByReport,
        CACHING_AND_DAMAGE,
        "an eligible replica that has stayed has all that was shown, at least in its page cache",
    ),
    unseen(
        Rule::EligibleAfterSet,
        STOP,
        "an eligible replica holds all that was shown; the rule saves records that were not",
    ),
];
