//! The in-sync set as its leader knows it: the committed set, and a change that was asked for.
//!
//! A change is a conditional write to the store, whose outcome may never be known. Until the
//! outcome is known, the watermark waits for the members of both sets: the maximal in-sync set.

use crate::metadata::{InSyncOutcome, IsrMember};
use crate::replication::protocol::Rules;
use crate::types::BrokerId;

/// The part of a partition's state in the store that its leader uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InSyncState {
    /// The in-sync replicas, the leader included.
    pub members: Vec<IsrMember>,
    /// The number of in-sync replicas that `acks=all` and the watermark require.
    pub minimum: usize,
    /// True if a replica outside the set may be elected (rule R13 in docs/replication.md).
    pub has_eligible: bool,
    /// True if the leader was elected after the wait for others, and is not believed yet (rules
    /// R21f and R21h in `rules.rs`).
    pub is_unvouched: bool,
    /// The version of the state.
    pub version: i32,
}

/// A change of the in-sync set, to be written to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InSyncChange {
    /// The number of the change, by which its outcome is reported.
    pub id: u64,
    /// The members after the change.
    pub members: Vec<IsrMember>,
    /// The version of the state that the change replaces.
    pub version: i32,
    /// The member that leads after the change, if another does.
    pub successor: Option<IsrMember>,
    /// True if the partition does not count as caching after the change (rule R14 in `rules.rs`).
    pub ends_caching: bool,
}

/// The in-sync set of one leader epoch.
#[derive(Clone, Debug)]
pub struct InSyncSet {
    rules: Rules,
    committed: InSyncState,
    asked: Option<Asked>,
    next_id: u64,
}

/// A change whose outcome is not known.
#[derive(Clone, Debug)]
struct Asked {
    id: u64,
    members: Vec<IsrMember>,
    /// The version that it was computed from.
    version: i32,
    /// False once its members no longer hold the watermark back.
    counts: bool,
    ends_caching: bool,
}

impl InSyncSet {
    pub(super) fn new(rules: Rules, committed: InSyncState) -> Self {
        Self { rules, committed, asked: None, next_id: 0 }
    }

    /// The committed members.
    pub fn members(&self) -> &[IsrMember] {
        &self.committed.members
    }

    /// The version of the committed state.
    pub(super) fn version(&self) -> i32 {
        self.committed.version
    }

    /// Returns true if a broker is a committed member.
    pub fn contains(&self, broker: BrokerId) -> bool {
        self.member(broker).is_some()
    }

    /// The committed member on a broker.
    pub(super) fn member(&self, broker: BrokerId) -> Option<IsrMember> {
        self.members().iter().find(|member| member.broker == broker).copied()
    }

    /// The members of the maximal set; some of them twice.
    pub(super) fn maximal(&self) -> impl Iterator<Item = IsrMember> {
        let counts = |asked: &&Asked| asked.counts && self.rules.waits_for_pending();
        let pending = self.asked.as_ref().filter(counts);
        let pending = pending.into_iter().flat_map(|asked| &asked.members);
        self.members().iter().chain(pending).copied()
    }

    /// Rule R6b: the members that must prove that they do not lead. The same member may come twice.
    pub(super) fn proving(&self) -> impl Iterator<Item = IsrMember> {
        let asked = self.asked.as_ref().filter(|_| self.rules.needs_proof_of_pending());
        let pending = asked.into_iter().flat_map(|asked| &asked.members);
        self.members().iter().chain(pending).copied()
    }

    /// Rule R6e: returns true if a replica outside the set may be elected, in the committed state
    /// or in one that was asked for.
    pub(super) fn has_eligible(&self) -> bool {
        let pending = self.asked.as_ref().map(|asked| asked.members.as_slice());
        self.committed.has_eligible || pending.is_some_and(|members| self.leaves_eligible(members))
    }

    /// Rule R13: returns true if there may be eligible replicas once the set has these members.
    fn leaves_eligible(&self, members: &[IsrMember]) -> bool {
        let InSyncState { members: before, minimum, has_eligible, .. } = &self.committed;
        let has_left = before.iter().any(|member| !members.contains(member));
        members.len() < *minimum && (*has_eligible || has_left)
    }

    /// Returns true if the leader is not believed yet, in the committed state.
    pub fn is_unvouched(&self) -> bool {
        self.committed.is_unvouched
    }

    /// The number of in-sync replicas that `acks=all` requires.
    pub fn minimum(&self) -> usize {
        self.committed.minimum
    }

    /// Returns true if `acks=all` has the replicas that it requires.
    pub fn has_minimum(&self) -> bool {
        self.members().len() >= self.committed.minimum
    }

    /// Returns true if there are enough replicas for the watermark to move.
    pub(super) fn may_advance(&self) -> bool {
        self.rules.has_minimum(self.members().len(), self.committed.minimum)
    }

    /// Asks for other members. `None` while the outcome of an earlier change is not known.
    pub(super) fn change_to(&mut self, members: Vec<IsrMember>) -> Option<InSyncChange> {
        if self.asked.is_some() {
            return None;
        }
        let (id, version) = (self.next_id, self.committed.version);
        self.next_id += 1;
        let (counts, ends_caching) = (true, false);
        self.asked = Some(Asked { id, members: members.clone(), version, counts, ends_caching });
        let version = self.rules.named_version(version);
        Some(InSyncChange { id, members, version, successor: None, ends_caching })
    }

    /// Asks for the same members in a partition that no longer counts as caching. `None` as for
    /// [`InSyncSet::change_to`].
    pub(super) fn end_caching(&mut self) -> Option<InSyncChange> {
        let change = self.change_to(self.committed.members.clone())?;
        if let Some(asked) = &mut self.asked {
            asked.ends_caching = true;
        }
        Some(InSyncChange { ends_caching: true, ..change })
    }

    /// Returns true if the partition may count as caching no longer, by a change that was asked
    /// for.
    pub(super) fn may_end_caching(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.ends_caching)
    }

    /// Asks for the same members under another leader. `None` as for [`InSyncSet::change_to`].
    pub(super) fn hand_over_to(&mut self, successor: IsrMember) -> Option<InSyncChange> {
        let change = self.change_to(self.committed.members.clone())?;
        Some(InSyncChange { successor: Some(successor), ..change })
    }

    /// Returns true while the outcome of a change is not known.
    pub(super) fn is_changing(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns true while the outcome of this change is not known.
    pub(super) fn awaits(&self, id: u64) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.id == id)
    }

    /// Takes the outcome of a change.
    pub(super) fn answered(&mut self, id: u64, outcome: InSyncOutcome) {
        let Some(mut asked) = self.asked.take_if(|asked| asked.id == id) else {
            // A read of the state has already settled the change.
            return;
        };
        match outcome {
            InSyncOutcome::Applied { version } => {
                self.committed.has_eligible = self.leaves_eligible(&asked.members);
                self.committed.members = asked.members;
                self.committed.version = version;
            }
            InSyncOutcome::Refused => {}
            InSyncOutcome::Unknown => {
                asked.counts = self.rules.keeps_unknown();
                self.asked = Some(asked);
            }
        }
    }

    /// Takes the state as it was read from the store. `behind_sync` is true if the read followed a
    /// sync.
    pub(super) fn read(&mut self, state: InSyncState, behind_sync: bool) {
        if state.version < self.committed.version {
            return;
        }
        if let Some(asked) = &self.asked
            && !self.rules.settles(asked.version, state.version, behind_sync)
        {
            return;
        }
        self.asked = None;
        self.committed = state;
    }
}
