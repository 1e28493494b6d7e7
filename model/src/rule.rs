//! The rules of the protocol, and the set of those in force.
//!
//! This module gives each rule its number, its name and the sentence that states it. The decision
//! is one predicate in the `rules` module of the rule's part, and is taken nowhere else.

use std::fmt::{self, Display, Formatter};

/// Declares the rules, with the number and the sentence of each.
macro_rules! rules {
    ($($name:ident $code:literal $sentence:literal)*) => {
        /// A rule that can be switched off.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule {
            $(#[doc = $sentence] $name,)*
        }

        impl Rule {
            /// All rules, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The number of the rule, with a letter for a part of it.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The rule itself.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }
        }
    };
}

rules! {
    FlushedCounts "R1" "Replicas report, and the leader counts, only what is flushed."
    FlushEndsAtTruncation "R1b" "A flush does not cover what was truncated while it ran."
    MaximalSet "R2a" "The watermark waits for the committed in-sync set and the one asked for."
    MinimumHolds "R2b" "The watermark moves only while the in-sync set has its minimum."
    UnknownStaysMaximal "R2c" "While the outcome of a write is unknown, its set counts too."
    CompareAndSet "R3a" "A write to the state node names the version that it was computed from."
    SessionOwnsWrite "R3b" "A write of a session that is over has no effect."
    OwnIncarnation "R4" "A broker leads only as the incarnation that was elected."
    JoinByIncarnation "R5" "A member joins only as the incarnation whose fetch was seen."
    LeaseEndsFirst "R6a" "A lease ends before the session can be given away."
    ProofByAll "R6b" "Without a lease a leader answers on proof by all of the maximal in-sync set."
    ProofFromSending "R6c" "Proof counts from the answer before the fetch, not from its arrival."
    ProofEndsFirst "R6d" "Proof ends before the wait of a new leader does."
    NoProofWithEligible "R6e" "With an eligible replica recorded, proof is not enough."
    WaitForAsked "R6f" "A new leader waits for every leader it asked, not only the last one."
    RestartWaits "R6g" "A broker that starts waits as if it had asked every other."
    WaitChangesNothing "R6h" "A new leader that waits neither grows the in-sync set nor hands over."
    DirectoryKnown "R7" "A replica on another directory is not elected and leaves the set."
    TruncateByEpoch "R8a" "A follower truncates its log where epochs diverge, not at its watermark."
    FetchIsFenced "R8b" "A fetch is answered in the same leader epoch only."
    JoinAtWatermark "R9a" "A joining member has flushed all below the watermark."
    JoinAtEpochStart "R9b" "A joining member has flushed all below the start of the epoch."
    ElectFromSet "R10" "Only in-sync and eligible replicas are elected."
    EligibleHoldsAll "R13a" "A replica is eligible only if it left a set below the minimum."
    EligibleDirectory "R13b" "An eligible replica is remembered by the directory it had in the set."
    EligibleCleared "R13c" "Lowering the minimum to the set's size clears the eligible replicas."
    EligibleClearedByMinimum "R13d" "A set that has its minimum again clears the eligible replicas."
    EligibleAfterSet "R13e" "An eligible replica is elected only if no in-sync one lives."
    MinimumNeedsLeader "R13f" "The minimum changes only while a leader lives."
    ClearAfterFlush "R14a"
        "The flag of caching is cleared once all members have flushed what was shown."
    UnflushedWithFlag "R14b" "Unflushed records count only while the state has the flag of caching."
    FlagVoidsFloors "R14c"
        "With the flag, whatever the setting, no recorded watermark counts."
    ClearFromEpochStart "R14d" "The flag is cleared when the watermark has reached the epoch."
    UnflushedUntilClear "R14e" "A leader that asks to clear the flag counts flushed records only."
    ClearWithoutEligible "R14f" "The flag is not cleared while eligible replicas are recorded."
    JoinWithPromised "R14g"
        "A joining member has flushed what had to be flushed to be shown."
    FloorsFromClearing "R14h"
        "A recorded watermark of before the epoch in which the flag was cleared does not count."
    EligibleReport "R14i" "Eligible replicas report, and are waited for, also with the flag."
    EligibleOnlyByReport "R14j"
        "With the flag, no eligible replica is elected without a report."
    ClearAfterWait "R14k" "Only a leader that may answer clients clears the flag."
    HandOverSilent "R15a" "A leader that hands over stops answering before it writes."
    HandOverUnknown "R15b" "With the outcome of a hand-over unknown, the old leader stays silent."
    HandOverToLive "R15c" "A planned move is never forced on a leader that lives."
    TruncateFirst "R16" "A follower truncates its log before it takes the leader's watermark."
    ReadAfterSync "R18" "An unknown write is settled by a read behind a `sync`, not by any read."
    EndsAreCompared "R21a" "After the end of all in-sync members, replicas report before one leads."
    TwoReport "R21b" "At least two members report, if there are two, whatever the minimum."
    GreatestEnd "R21c" "The replica with the greatest last epoch and end is elected."
    FloorExcludes "R21d"
        "A log that ends below a watermark which any replica has recorded is not elected."
    LateReturn "R21e"
        "A member that returns after the wait keeps its log, and leads if it has more."
    UnvouchedAppendsNothing "R21f"
        "A leader elected after the wait appends nothing while members may return."
    LastSetIsKept "R21g" "No member is removed from the last set before a leader is elected."
    UnvouchedAddsNobody "R21h"
        "A leader elected after the wait adds no member."
    FloorHolds "R24a" "A follower does not truncate its log below its recorded watermark."
    FloorHasGeneration "R24b" "A recorded watermark counts in its loss generation only."
    FloorAboveEnd "R25a" "A leader stops if a follower has recorded a watermark above its log end."
    FloorAboveDivergence "R25b"
        "A leader stops if its log differs from a follower's below the recorded watermark."
    StateIsKept "R27" "A state node that is missing is not created again."
    EvidenceFirst "R28a" "A disk that has recorded more than its log has is registered as lost."
    LossStays "R28b"
        "A disk counts as lost until its replica is struck out, however often it starts."
    ReadFromEpochStart "I14" "A new leader is read only when the watermark has reached its epoch."
}

impl Display for Rule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.code(), self.sentence())
    }
}

/// The rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(u64);

impl Rules {
    /// Every rule in force.
    pub const ALL: Self = Self(u64::MAX);

    /// These rules except the given one.
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u64))
    }

    /// Returns whether a rule is in force.
    pub const fn has(self, rule: Rule) -> bool {
        self.0 >> rule as u64 & 1 == 1
    }
}
