//! Terms and evidence of an election: settings of a topic, and what live brokers have registered.

use crate::metadata::ElectionRules;
use crate::metadata::image::{
    DirectoryId, EligibleReplica, Image, Incarnation, IsrMember, PartitionState,
};
use crate::metadata::in_sync::rules;
use crate::types::{BrokerId, PartitionIndex, TopicId};

/// The recorded data directory of a member that has lost records: no data directory has this id.
const LOST_RECORDS: &str = "records-lost";

/// The facts about a partition, and the settings of its topic, that decide its elections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The partition.
    pub(super) id: (TopicId, PartitionIndex),
    /// The number of in-sync replicas that `acks=all` requires.
    pub(super) minimum: usize,
    /// True if records are to be acknowledged before they are flushed, which the state has to say
    /// first (rule R14b); `None` if the settings cannot be read.
    pub(super) caches: Option<bool>,
    /// True if fewer reports than needed are enough, because the wait for others is over.
    pub(super) is_overdue: bool,
    /// The rules in force.
    pub(super) rules: ElectionRules,
}

/// The evidence of the live brokers about a partition.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) image: &'a Image,
    pub(super) id: (TopicId, PartitionIndex),
    pub(super) rules: ElectionRules,
}

impl Evidence<'_> {
    /// Returns true if the process of an in-sync replica answers nobody for the partition any more:
    /// it has ended, or has found that its disk lost records and has stopped the partition, or has
    /// reported since the state has no leader.
    pub(super) fn has_stopped(self, state: &PartitionState, member: &IsrMember) -> bool {
        let is_marked = state.directory_of(member).is_some_and(|id| **id == *LOST_RECORDS);
        let now = registered(self.image, member.broker);
        // In a rebuilt state nobody knows the incarnation.
        let is_unknown = member.incarnation == Incarnation::UNKNOWN;
        let lives = now == Some(*member) || is_unknown && now.is_some();
        is_marked
            || lives && self.has_lost_records(member.broker)
            || lives && state.leader.is_none() && self.has_reported(state, member.broker)
            || !is_unknown && self.image.has_ended(member)
    }

    /// Returns true if the leader that was not believed, or a replica in sync with it, may still
    /// act as such: it lives as it was recorded, or may do so without its registration, and has not
    /// stopped.
    pub(super) fn may_act(self, state: &PartitionState) -> bool {
        let lives = |member: &&IsrMember| {
            registered(self.image, member.broker) == Some(**member)
                || self.image.has_lost_registration(member.broker)
        };
        state.unvouched.is_some()
            && state.isr.iter().filter(lives).any(|member| !self.has_stopped(state, member))
    }

    /// Returns true if a live broker has reported its log in the epoch of a state.
    fn has_reported(self, state: &PartitionState, broker: BrokerId) -> bool {
        let registered = self.image.broker(broker);
        let report = registered.and_then(|broker| broker.registration.reports.get(&self.id));
        report.is_some_and(|report| report.epoch == state.leader_epoch)
    }

    /// Returns true if an in-sync replica has been alive since it was in sync, with its data.
    pub(super) fn stays(self, state: &PartitionState, member: &IsrMember) -> bool {
        registered(self.image, member.broker) == Some(*member)
            && (self.has_data(state, member) || rules::leads_with_loss(state, member))
    }

    /// The in-sync replicas whose brokers have registered again, with the data that they had.
    pub(super) fn returned(self, state: &PartitionState) -> Vec<IsrMember> {
        let members = state.isr.iter().filter(|member| self.has_data(state, member));
        members.filter_map(|member| registered(self.image, member.broker)).collect()
    }

    /// The eligible replicas that are alive with the data that they had, each as it was recorded
    /// and as it is registered.
    pub(super) fn eligible(
        self,
        state: &PartitionState,
    ) -> impl Iterator<Item = (&EligibleReplica, IsrMember)> {
        let kept = state.eligible.iter().filter(move |replica| !self.lacks_data(replica));
        kept.filter_map(move |replica| Some((replica, registered(self.image, replica.broker)?)))
    }

    /// The in-sync set without the members that have lost their data, unless none would be left.
    pub(super) fn last_members(self, state: &PartitionState) -> Vec<IsrMember> {
        let members = state.isr.iter().filter(|member| self.has_data(state, member));
        let left: Vec<IsrMember> = members.copied().collect();
        if left.is_empty() { state.isr.clone() } else { left }
    }

    /// Returns true if no replica is left, in sync or eligible, that may have its data.
    pub(super) fn have_all_lost_data(self, state: &PartitionState) -> bool {
        !state.isr.iter().any(|member| self.has_data(state, member))
            && state.eligible.iter().all(|replica| self.lacks_data(replica))
    }

    /// Notes in a state which in-sync replicas have lost records.
    pub(super) fn mark_lost_records(self, state: &mut PartitionState) {
        for (member, directory) in state.isr.iter().zip(&mut state.directories) {
            if self.has_lost_records(member.broker) {
                *directory = Some(LOST_RECORDS.into());
            }
        }
    }

    /// Returns true unless a member has lost the data that it had when it joined.
    pub(super) fn has_data(self, state: &PartitionState, member: &IsrMember) -> bool {
        !self.has_lost_data(member.broker, state.directory_of(member))
    }

    /// Returns true if an eligible replica has lost the data that it had.
    pub(super) fn lacks_data(self, replica: &EligibleReplica) -> bool {
        self.has_lost_data(replica.broker, Some(&replica.directory))
    }

    /// Returns true if a live broker lacks the data that it had in the directory `recorded`.
    pub(super) fn has_lost_data(self, broker: BrokerId, recorded: Option<&DirectoryId>) -> bool {
        let registered = self.image.broker(broker);
        registered.is_some_and(|broker| {
            self.rules.has_lost_data(recorded, &broker.registration, &self.id)
        })
    }

    /// Returns true if the disk of a live broker has lost records of the partition.
    fn has_lost_records(self, broker: BrokerId) -> bool {
        let registered = self.image.broker(broker);
        registered.is_some_and(|broker| broker.registration.lost.contains(&self.id))
    }
}

/// The broker as a member of an in-sync set, if it is alive.
pub(super) fn registered(image: &Image, broker: BrokerId) -> Option<IsrMember> {
    let incarnation = image.broker(broker)?.incarnation;
    Some(IsrMember { broker, incarnation })
}

/// The data directory of a live broker.
pub(super) fn directory(image: &Image, broker: BrokerId) -> Option<DirectoryId> {
    image.broker(broker)?.registration.directory_id.as_deref().map(DirectoryId::from)
}
