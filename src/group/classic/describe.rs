//! Descriptions of groups for administrators.

use super::group::Group;
use super::member::Member;
use crate::group::{GroupDescription, GroupFilter, GroupState, ListedGroup, MemberDescription};

impl Group {
    /// The group with its members. Member metadata is included only while the group is stable.
    pub(in crate::group) fn describe(&self) -> GroupDescription {
        let protocol = self.generation.protocol().filter(|_| self.generation.is_stable());
        let describe = |member: &Member| MemberDescription {
            member_id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: protocol.and_then(|p| member.metadata(p)).cloned().unwrap_or_default(),
            assignment: member.assignment.clone(),
        };
        GroupDescription {
            state: self.state(),
            protocol_type: self.generation.protocol_type().cloned().unwrap_or_default(),
            members: self.members.iter().map(describe).collect(),
            protocol: protocol.cloned().unwrap_or_default(),
        }
    }

    /// The entry of the group in a list, if it passes the filter.
    pub(in crate::group) fn listed(&self, filter: &GroupFilter) -> Option<ListedGroup> {
        let state = self.state();
        let passes = |wanted: &[String], name: &str| {
            wanted.is_empty() || wanted.iter().any(|w| w.trim().eq_ignore_ascii_case(name))
        };
        let listed = ListedGroup {
            group_id: self.id.clone(),
            protocol_type: self.generation.protocol_type().cloned().unwrap_or_default(),
            state,
        };
        (passes(&filter.states, state.name()) && passes(&filter.types, "classic")).then_some(listed)
    }
}

impl GroupDescription {
    /// The description of a group that does not exist.
    pub(in crate::group) fn dead() -> Self {
        Self {
            state: GroupState::Dead,
            protocol_type: "".into(),
            protocol: "".into(),
            members: Vec::new(),
        }
    }
}
