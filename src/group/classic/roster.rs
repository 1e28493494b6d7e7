//! The members of a group, by id and by static name, and their common protocols.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::member::Member;
use crate::group::{InstanceId, MemberId, Protocol};

/// The members. Every static name belongs to exactly one of them.
#[derive(Default)]
pub(super) struct Roster {
    members: BTreeMap<MemberId, Member>,
    statics: BTreeMap<InstanceId, MemberId>,
}

impl Roster {
    pub(super) fn insert(&mut self, member: Member) {
        if let Some(instance_id) = &member.instance_id {
            let other = self.statics.insert(instance_id.clone(), member.id.clone());
            assert!(other.is_none(), "{instance_id} was {other:?} and became {}", member.id);
        }
        self.members.insert(member.id.clone(), member);
    }

    pub(super) fn remove(&mut self, id: &MemberId) -> Option<Member> {
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
    /// most votes win, ties go to the first name. `None` only without members.
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
