//! The members of a group by id and by static name, their leader, and their common protocols.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::member::Member;
use crate::group::records::MemberSnapshot;
use crate::group::{GroupError, InstanceId, MemberId, Protocol};

/// The members of a group, and the newcomers among its clients.
#[derive(Default)]
pub(super) struct Membership {
    members: BTreeMap<MemberId, Member>,
    /// Every static name belongs to exactly one member.
    statics: BTreeMap<InstanceId, MemberId>,
    /// The member that computes the assignment.
    leader: Option<MemberId>,
    /// Member ids assigned to newcomers that have not joined with them yet, and their deadlines.
    newcomers: BTreeMap<MemberId, Duration>,
}

impl Membership {
    /// Restores the members from the log. The log may be damaged in a way that no checksum found,
    /// so only the first of two members with the same name is kept.
    pub(super) fn restored(
        members: Vec<MemberSnapshot>,
        leader: Option<MemberId>,
        protocol: Option<&Arc<str>>,
    ) -> Self {
        let mut restored = Self { leader, ..Self::default() };
        for member in members {
            let twin = member.instance_id.as_ref().and_then(|id| restored.of_instance(id));
            if twin.is_none() && restored.get(&member.id).is_none() {
                restored.insert(Member::restored(member, protocol));
            }
        }
        restored
    }

    /// Adds a member, which leads if no other does.
    pub(super) fn admit(&mut self, member: Member) {
        self.leader.get_or_insert_with(|| member.id.clone());
        self.insert(member);
    }

    /// Adds a member.
    pub(super) fn insert(&mut self, member: Member) {
        if let Some(instance_id) = &member.instance_id {
            let other = self.statics.insert(instance_id.clone(), member.id.clone());
            assert!(other.is_none(), "{instance_id} was {other:?} and became {}", member.id);
        }
        self.members.insert(member.id.clone(), member);
    }

    /// Removes a member. If it was the leader, the group has no leader then.
    pub(super) fn remove(&mut self, id: &MemberId) -> Option<Member> {
        if self.leads(id) {
            self.leader = None;
        }
        let member = self.members.remove(id)?;
        if let Some(instance_id) = &member.instance_id {
            self.statics.remove(instance_id);
        }
        Some(member)
    }

    pub(super) fn get(&self, id: &MemberId) -> Option<&Member> {
        self.members.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &MemberId) -> Option<&mut Member> {
        self.members.get_mut(id)
    }

    /// The current member id of a static member.
    pub(super) fn of_instance(&self, instance_id: &InstanceId) -> Option<&MemberId> {
        self.statics.get(instance_id)
    }

    /// The member with this id, unless a later incarnation of the static member has replaced it.
    pub(super) fn find(
        &self,
        member_id: Option<&MemberId>,
        instance_id: Option<&InstanceId>,
    ) -> Result<&Member, GroupError> {
        if let Some(instance_id) = instance_id {
            let current = self.of_instance(instance_id);
            if current.is_some() && current != member_id {
                return Err(GroupError::FencedInstanceId);
            }
            current.ok_or(GroupError::UnknownMemberId)?;
        }
        member_id.and_then(|id| self.get(id)).ok_or(GroupError::UnknownMemberId)
    }

    /// The member that computes the assignment, if one does.
    pub(super) fn leader(&self) -> Option<&MemberId> {
        self.leader.as_ref()
    }

    /// Returns true if this member is the leader.
    pub(super) fn leads(&self, id: &MemberId) -> bool {
        self.leader.as_ref() == Some(id)
    }

    /// Makes a member the leader, or none.
    pub(super) fn set_leader(&mut self, id: Option<MemberId>) {
        self.leader = id;
    }

    /// Keeps the leader if it has rejoined; otherwise the first member that has rejoined becomes
    /// the leader. Returns true if the group has a leader.
    pub(super) fn elect_leader(&mut self) -> bool {
        let has_joined = |id| self.get(id).is_some_and(Member::awaits_join);
        if !self.leader.as_ref().is_some_and(has_joined) {
            self.leader = self.ids_where(Member::awaits_join).into_iter().next();
        }
        self.leader.is_some()
    }

    /// Assigns an id to a newcomer, which must join with it before `deadline`.
    pub(super) fn expect_newcomer(&mut self, id: MemberId, deadline: Duration) {
        self.newcomers.insert(id, deadline);
    }

    /// Forgets a newcomer. Returns true if there was one with this id.
    pub(super) fn forget_newcomer(&mut self, id: &MemberId) -> bool {
        self.newcomers.remove(id).is_some()
    }

    /// Forgets the newcomers that have not joined by `now`.
    pub(super) fn expire_newcomers(&mut self, now: Duration) {
        self.newcomers.retain(|_, deadline| *deadline > now);
    }

    /// Returns true if a newcomer was assigned this id.
    pub(super) fn is_newcomer(&self, id: &MemberId) -> bool {
        self.newcomers.contains_key(id)
    }

    /// The number of newcomers.
    pub(super) fn newcomers(&self) -> usize {
        self.newcomers.len()
    }

    /// Returns true if every newcomer and every member has joined.
    pub(super) fn have_all_joined(&self) -> bool {
        self.newcomers.is_empty() && self.iter().all(Member::awaits_join)
    }

    /// The time at which the next session or newcomer expires.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        let sessions = self.iter().filter_map(Member::deadline);
        sessions.chain(self.newcomers.values().copied()).min()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.members.values_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The ids of the members for which `matches` holds.
    pub(super) fn ids_where(&self, matches: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        self.iter().filter(|member| matches(member)).map(|member| member.id.clone()).collect()
    }

    /// The number of members that wait for the rebalance to complete.
    pub(super) fn joined(&self) -> usize {
        self.iter().filter(|member| member.awaits_join()).count()
    }

    /// The number of bytes that the members hold.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(Member::bytes).sum()
    }

    /// The longest rebalance timeout of any member.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        self.iter().map(|member| member.rebalance_timeout).max().unwrap_or_default()
    }

    /// True if all members support at least one common protocol out of `protocols`.
    pub(super) fn supports_any(&self, protocols: &[Protocol]) -> bool {
        protocols.iter().any(|protocol| self.supports(&protocol.name))
    }

    fn supports(&self, protocol: &str) -> bool {
        self.iter().all(|member| member.metadata(protocol).is_some())
    }

    /// Chooses the protocol. Each member votes for its first protocol that all members support; the
    /// most votes win, ties go to the first name. `None` only without members: a client that
    /// supports no common protocol is not admitted.
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let first = self.iter().next()?;
        let shared: Vec<&Arc<str>> = first
            .protocols
            .iter()
            .map(|protocol| &protocol.name)
            .filter(|name| self.supports(name))
            .collect();
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.iter() {
            let names = member.protocols.iter().map(|protocol| &protocol.name);
            if let Some(choice) = names.into_iter().find(|name| shared.contains(name)) {
                *votes.entry(choice).or_default() += 1;
            }
        }
        let winner = votes.into_iter().max_by_key(|(name, count)| (*count, Reverse(*name)));
        winner.map(|(name, _)| Arc::clone(name))
    }
}
