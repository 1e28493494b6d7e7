//! Dispatch of requests to groups, including those for unknown groups.

use super::classic::new_offsets;
use super::coordinator::{Coordinator, refuse};
use super::ids::NAME_BYTES_MAX;
use super::step::Step;
use crate::group::{
    AdminRefusal, Answer, CommitRequest, DeleteOffsetsRequest, FetchOffsetsRequest, Generation,
    GroupDescription, GroupError, GroupFilter, GroupId, HeartbeatRequest, JoinRequest,
    LeaveRequest, Request, SyncRequest, Ticket, Unavailable,
};

/// The maximum number of appends in flight; beyond it the log has stalled, and more are refused.
const IN_FLIGHT_MAX: usize = 10_000;

impl Coordinator {
    pub(super) fn dispatch(&mut self, ticket: Ticket, request: Request, step: &mut Step) {
        let stores = matches!(
            request,
            Request::Commit(_) | Request::DeleteOffsets(_) | Request::DeleteGroups(_)
        );
        if stores && self.in_flight.len() >= IN_FLIGHT_MAX {
            refuse(ticket, request, Unavailable::NotAvailable, step);
            return;
        }
        match request {
            Request::Join(request) => self.join(ticket, request, step),
            Request::Sync(request) => self.sync(ticket, request, step),
            Request::Heartbeat(request) => self.heartbeat(ticket, &request, step),
            Request::Leave(request) => self.leave(ticket, request, step),
            Request::Commit(request) => self.commit(ticket, request, step),
            Request::FetchOffsets(request) => self.fetch_offsets(ticket, request, step),
            Request::DeleteOffsets(request) => self.delete_offsets(ticket, request, step),
            Request::DeleteGroups(ids) => self.delete_groups(ticket, ids, step),
            Request::ListGroups(filter) => self.list_groups(ticket, &filter, step),
            Request::DescribeGroups(ids) => self.describe_groups(ticket, ids, step),
        }
    }

    fn join(&mut self, ticket: Ticket, request: JoinRequest, step: &mut Step) {
        let id = request.group_id.clone();
        let is_known = self.groups.contains_key(&id);
        let check = match check_id(&id) {
            // Only a newcomer creates a group: the group of an existing member would be known here.
            Ok(()) if !is_known && request.member_id.is_some() => Err(GroupError::UnknownMemberId),
            Ok(()) if !is_known => self.check_group_limit(),
            other => other,
        };
        if let Err(error) = check {
            step.answer(ticket, Answer::Join(Err(error)));
            return;
        }
        self.group_mut(id.clone());
        self.with_group(&id, |group| group.join(request, ticket, step));
    }

    fn sync(&mut self, ticket: Ticket, request: SyncRequest, step: &mut Step) {
        let id = request.group_id.clone();
        if let Err(error) = self.check_known(&id) {
            step.answer(ticket, Answer::Sync(Err(error)));
            return;
        }
        self.with_group(&id, |group| group.sync(request, ticket, step));
    }

    /// Handles a heartbeat. It only moves deadlines later, so the index is not updated: an indexed
    /// deadline may be too early, and is corrected when it passes.
    fn heartbeat(&mut self, ticket: Ticket, request: &HeartbeatRequest, step: &mut Step) {
        let result = check_id(&request.group_id).and_then(|()| {
            let group = self.groups.get_mut(&request.group_id);
            group.ok_or(GroupError::UnknownMemberId)?.heartbeat(&request.claim, step)
        });
        step.answer(ticket, Answer::Heartbeat(result));
    }

    fn leave(&mut self, ticket: Ticket, request: LeaveRequest, step: &mut Step) {
        let id = request.group_id.clone();
        match self.check_known(&id) {
            Ok(()) => {
                self.with_group(&id, |group| group.leave(request, ticket, step));
            }
            Err(GroupError::UnknownMemberId) => {
                let result = |leaver| (leaver, Err(GroupError::UnknownMemberId));
                let results = request.members.into_iter().map(result).collect();
                step.answer(ticket, Answer::Leave(Ok(results)));
            }
            Err(error) => step.answer(ticket, Answer::Leave(Err(error))),
        }
    }

    fn commit(&mut self, ticket: Ticket, request: CommitRequest, step: &mut Step) {
        if let Err(error) = self.check_commit(&request, step) {
            step.answer(ticket, Answer::Commit(Err(error)));
            return;
        }
        let (records, results) = new_offsets(request, step);
        step.answer_after(records, ticket, Answer::Commit(Ok(results)));
    }

    /// Checks whether offsets may be committed. Any group id is allowed, since consumers without a
    /// group choose the id freely; old clients use an empty one.
    fn check_commit(&mut self, request: &CommitRequest, step: &Step) -> Result<(), GroupError> {
        check_length(&request.group_id)?;
        match self.groups.get_mut(&request.group_id) {
            Some(group) => group.check_commit(&request.claim, step),
            None if request.claim.generation < Generation(0) => self.check_group_limit(),
            None => Err(GroupError::IllegalGeneration {
                given: request.claim.generation,
                current: Generation::NONE,
            }),
        }
    }

    fn fetch_offsets(&self, ticket: Ticket, request: FetchOffsetsRequest, step: &mut Step) {
        if self.uncertain.contains(&request.group_id, request.partitions.as_deref()) {
            return step.answer(ticket, Answer::FetchOffsets(Err(GroupError::OffsetsDamaged)));
        }
        let offsets = if let Some(group) = self.groups.get(&request.group_id) {
            group.fetch_offsets(request.partitions)
        } else {
            let asked = request.partitions.unwrap_or_default();
            asked.into_iter().map(|partition| (partition, None)).collect()
        };
        step.answer(ticket, Answer::FetchOffsets(Ok(offsets)));
    }

    fn delete_offsets(&self, ticket: Ticket, request: DeleteOffsetsRequest, step: &mut Step) {
        let result = check_id(&request.group_id).and_then(|()| {
            let group = self.groups.get(&request.group_id).ok_or(AdminRefusal::GroupIdNotFound)?;
            group.delete_offsets(request.partitions)
        });
        match result {
            Ok((records, results)) => {
                step.answer_after(records, ticket, Answer::DeleteOffsets(Ok(results)));
            }
            Err(error) => step.answer(ticket, Answer::DeleteOffsets(Err(error))),
        }
    }

    fn delete_groups(&self, ticket: Ticket, ids: Vec<GroupId>, step: &mut Step) {
        let mut records = Vec::new();
        let mut results = Vec::new();
        for id in ids {
            let tombstones = match self.groups.get(&id) {
                Some(group) => group.delete(),
                None => Err(AdminRefusal::GroupIdNotFound.into()),
            };
            results.push((id, tombstones.map(|tombstones| records.extend(tombstones))));
        }
        step.answer_after(records, ticket, Answer::DeleteGroups(results));
    }

    fn list_groups(&self, ticket: Ticket, filter: &GroupFilter, step: &mut Step) {
        let listed = self.groups.values().filter_map(|group| group.listed(filter)).collect();
        step.answer(ticket, Answer::ListGroups(Ok(listed)));
    }

    fn describe_groups(&self, ticket: Ticket, ids: Vec<GroupId>, step: &mut Step) {
        let describe = |id: GroupId| {
            let group = self.groups.get(&id);
            let description =
                group.map_or_else(GroupDescription::dead, super::classic::Group::describe);
            (id, Ok(description))
        };
        let described = ids.into_iter().map(describe).collect();
        step.answer(ticket, Answer::DescribeGroups(described));
    }

    fn check_known(&self, id: &GroupId) -> Result<(), GroupError> {
        check_id(id)?;
        if self.groups.contains_key(id) { Ok(()) } else { Err(GroupError::UnknownMemberId) }
    }

    fn check_group_limit(&self) -> Result<(), GroupError> {
        if self.groups.len() < self.config.max_groups {
            Ok(())
        } else {
            Err(GroupError::TooManyGroups(self.config.max_groups))
        }
    }
}

fn check_id(id: &GroupId) -> Result<(), GroupError> {
    if id.as_str().is_empty() { Err(GroupError::InvalidGroupId(0)) } else { check_length(id) }
}

fn check_length(id: &GroupId) -> Result<(), GroupError> {
    let length = id.as_str().len();
    if length <= NAME_BYTES_MAX { Ok(()) } else { Err(GroupError::InvalidGroupId(length)) }
}
