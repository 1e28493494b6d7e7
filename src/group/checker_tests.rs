//! Invariants of a coordinator under any sequence of events, checked from its answers and its log.

use std::collections::{BTreeMap, BTreeSet};

use super::records::{GroupSnapshot, LogRecord};
use crate::group::{
    Answer, CommittedOffset, Coordinator, FetchOffsetsRequest, Generation, GroupId, GroupRecord,
    InstanceId, Joined, MemberId, Now, Request, Ticket,
};
use crate::types::TopicPartition;

/// The acknowledged state so far.
#[derive(Default)]
pub(super) struct Checker {
    /// The replicated log, replayed by a simpler implementation than the coordinator's.
    offsets: BTreeMap<GroupId, BTreeMap<TopicPartition, CommittedOffset>>,
    replicated_offsets: BTreeSet<i64>,
    snapshots: BTreeMap<GroupId, GroupSnapshot>,
    groups: BTreeMap<GroupId, Promises>,
}

/// The acknowledged state of one group.
#[derive(Default)]
struct Promises {
    /// The highest generation in which a member was given an assignment.
    assigned: Generation,
    /// The highest generation that the current coordinator has announced.
    announced: Generation,
    owners: BTreeMap<(Generation, u8), (MemberId, Option<InstanceId>)>,
}

impl Checker {
    /// Notes that records are on all in-sync replicas.
    pub(super) fn on_replicated(&mut self, records: &[GroupRecord]) {
        for record in records {
            let record = LogRecord::decode(&record.key, record.value.as_deref());
            match record.expect("a coordinator writes sound records") {
                LogRecord::Offset { group, partition, value: Some(value) } => {
                    self.replicated_offsets.insert(value.offset);
                    self.offsets.entry(group).or_default().insert(partition, value);
                }
                LogRecord::Offset { group, partition, value: None } => {
                    self.offsets.entry(group).or_default().remove(&partition);
                }
                LogRecord::Group { group, value: None } => {
                    // A group that is created again counts from the start.
                    self.groups.remove(&group);
                    self.snapshots.remove(&group);
                }
                LogRecord::Group { group, value: Some(snapshot) } => {
                    self.snapshots.insert(group, snapshot);
                }
            }
        }
    }

    /// Notes that a coordinator that knows only the log has taken over.
    pub(super) fn on_new_coordinator(&mut self) {
        for promises in self.groups.values_mut() {
            promises.announced = Generation::default();
        }
    }

    pub(super) fn announced(&self, group: &GroupId) -> Generation {
        self.groups.get(group).map(|promises| promises.announced).unwrap_or_default()
    }

    pub(super) fn on_joined(&mut self, group: &GroupId, joined: &Joined) {
        let promises = self.groups.entry(group.clone()).or_default();
        let generation = joined.generation;
        assert!(
            generation >= promises.announced.max(promises.assigned),
            "{group} fell back to {generation} from {} announced, {} assigned",
            promises.announced,
            promises.assigned
        );
        promises.announced = generation;
        let leads = joined.leader == joined.member_id;
        assert_eq!(!joined.members.is_empty(), leads, "only the leader gets the members");
        if leads {
            assert!(joined.members.iter().any(|member| member.member_id == joined.member_id));
        }
    }

    /// Notes that `member` was given `partitions` in `generation`.
    pub(super) fn on_assigned(
        &mut self,
        group: &GroupId,
        generation: Generation,
        member: &(MemberId, Option<InstanceId>),
        partitions: &[u8],
    ) {
        let promises = self.groups.entry(group.clone()).or_default();
        assert!(generation >= promises.announced, "{group} assigned an old generation");
        promises.assigned = promises.assigned.max(generation);
        let stored = &self.snapshots[group];
        assert_eq!(stored.generation, generation, "{group} gave what was not replicated");
        let stored = stored.members.iter().find(|stored| stored.id == member.0);
        assert_eq!(stored.map(|stored| &*stored.assignment), Some(partitions));
        for &partition in partitions {
            let owner = promises.owners.insert((generation, partition), member.clone());
            // The next incarnation of a static member replaces the fenced one.
            let is_same = owner.as_ref().is_none_or(|(id, instance)| {
                *id == member.0 || (instance.is_some() && *instance == member.1)
            });
            assert!(
                is_same,
                "{partition} of {group} in {generation} is {owner:?}'s and {member:?}'s"
            );
        }
    }

    /// Notes that a commit of `offset` was acknowledged. `announced` is the highest generation that
    /// had been announced when it was requested.
    pub(super) fn on_committed(&self, offset: i64, given: Generation, announced: Generation) {
        let is_replicated = self.replicated_offsets.contains(&offset);
        assert!(is_replicated, "{offset} was acknowledged before it was replicated");
        let is_fenced = given >= Generation::default() && given < announced;
        assert!(!is_fenced, "generation {given} committed after {announced} was announced");
    }

    /// Checks that the coordinator's offsets match the replicated log.
    pub(super) fn check_offsets(&self, coordinator: &mut Coordinator, now: Now) {
        for (group, offsets) in &self.offsets {
            let request = FetchOffsetsRequest { group_id: group.clone(), partitions: None };
            let ticket = Ticket(u64::MAX);
            let decision = coordinator.handle(ticket, Request::FetchOffsets(request), now);
            let expected: Vec<_> =
                offsets.iter().map(|(p, value)| (p.clone(), Some(value.clone()))).collect();
            assert_eq!(decision.answers, vec![(ticket, Answer::FetchOffsets(Ok(expected)))]);
        }
    }
}
