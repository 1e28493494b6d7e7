//! The members of a group: each joins, commits the offsets of the partitions that it is assigned,
//! and leaves, or hangs for longer than its session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use streamlog::wire::heartbeat::HeartbeatRequest;
use streamlog::wire::join_group::{JoinGroupRequest, Protocol};
use streamlog::wire::leave_group::{self, LeaveGroupRequest};
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::sync_group::{MemberAssignment, SyncGroupRequest};
use streamlog::wire::{Assignment, ErrorCode, Message, Subscription, TopicPartitions};
use tokio::time::sleep;

use super::requests::{GROUP, Offsets, accepted, call, committed, coordinator};
use crate::checkers::Violation;
use crate::world::{MACHINES, PARTITIONS, TOPIC, World};

/// The time without heartbeats after which a member expires, in milliseconds.
const SESSION_TIMEOUT_MS: i32 = 6_000;

/// The time that a rebalance waits for members, in milliseconds: less than a client waits for an
/// answer.
const REBALANCE_TIMEOUT_MS: i32 = 3_000;

/// The event of a commit.
pub(crate) const COMMITTED: &str = "offsets committed";

/// The events of commits that are refused.
const FORMER_GENERATION: &str = "commit for a former generation refused";
const REMOVED_MEMBER: &str = "commit of a removed member refused";

/// One heartbeat in this many is the last of a member that leaves.
const LEAVES_ONE_IN: u64 = 40;

/// One heartbeat in this many is followed by silence for longer than a session.
const HANGS_ONE_IN: u64 = 40;

/// A consumer in the group.
pub(super) struct Member {
    world: Arc<World>,
    /// The machine that is asked as the coordinator.
    coordinator: usize,
    /// The client id, a prefix of the member id. Members are ordered by it: the rest is random.
    name: String,
    /// Empty until the coordinator has given it.
    id: String,
    generation: i32,
}

impl Member {
    /// A consumer that has not joined.
    pub(super) fn new(world: &Arc<World>) -> Self {
        let (name, id) = (String::new(), String::new());
        Self { world: Arc::clone(world), coordinator: 0, name, id, generation: -1 }
    }

    /// Joins again and again, until the load ends.
    pub(super) async fn take_part(mut self) {
        while self.is_wanted() {
            sleep(self.world.millis(20, 500)).await;
            if let Err(code) = self.take_turn().await {
                self.recover(code).await;
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.world.is_loaded.load(Ordering::Relaxed)
    }

    /// Takes part in a generation, from joining to its end or to a failed request.
    async fn take_turn(&mut self) -> Result<(), ErrorCode> {
        let former = (self.generation, self.id.clone());
        let members = self.join().await?;
        let partitions = self.sync(&members).await?;
        let mut positions = self.resume(&partitions).await?;
        if !positions.is_empty() && former.1 == self.id && self.world.chance(2) {
            // As a commit that was under way. It is refused, which changes nothing for the member.
            let _ = self.commit(former.0, &positions).await;
        }
        while self.is_wanted() && !self.world.chance(LEAVES_ONE_IN) {
            let pause = if self.world.chance(HANGS_ONE_IN) {
                self.world.note("member hung", &[]);
                self.world.millis(6_000, 12_000)
            } else {
                self.world.millis(100, 1_500)
            };
            sleep(pause).await;
            if !positions.is_empty() && self.world.chance(2) {
                for position in positions.values_mut() {
                    *position += 1 + self.world.below(3).cast_signed();
                }
                self.commit(self.generation, &positions).await?;
            }
            self.beat().await?;
        }
        self.leave().await
    }

    /// Does what a client does after an error.
    async fn recover(&mut self, code: ErrorCode) {
        match code {
            // It joins again.
            ErrorCode::RebalanceInProgress
            | ErrorCode::IllegalGeneration
            | ErrorCode::CoordinatorLoadInProgress => {}
            ErrorCode::UnknownMemberId => self.id.clear(),
            _ => {
                let asked = self.world.index(MACHINES);
                if let Ok(found) = coordinator(&self.world, asked).await {
                    self.coordinator = found;
                }
            }
        }
    }

    async fn ask<R: Message>(&self, version: i16, request: &R) -> Result<R::Response, ErrorCode> {
        call((&self.world, &self.name), self.coordinator, version, request).await
    }

    /// Joins the group; returns the ids of all members if this is their leader.
    async fn join(&mut self) -> Result<Vec<String>, ErrorCode> {
        if self.id.is_empty() {
            self.name = format!("member-{:06}", self.world.next_value());
        }
        let topics = vec![TOPIC.to_owned()];
        let subscription = Subscription { topics, ..Subscription::default() };
        let protocol =
            Protocol { name: "range".to_owned(), metadata: subscription.to_blob(0).unwrap() };
        let request = JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: SESSION_TIMEOUT_MS,
            rebalance_timeout_ms: REBALANCE_TIMEOUT_MS,
            member_id: self.id.clone(),
            protocol_type: "consumer".to_owned(),
            protocols: vec![protocol],
            ..JoinGroupRequest::default()
        };
        let response = self.ask(7, &request).await?;
        if response.error_code == ErrorCode::MemberIdRequired {
            self.id.clone_from(&response.member_id);
        }
        accepted(response.error_code)?;
        self.id = response.member_id;
        self.generation = response.generation_id;
        let mut members: Vec<_> =
            response.members.into_iter().map(|member| member.member_id).collect();
        members.sort();
        Ok(members)
    }

    /// Hands out the partitions if this is the leader, and returns its own.
    async fn sync(&self, members: &[String]) -> Result<Vec<i32>, ErrorCode> {
        let assignments = members.iter().enumerate().map(|(number, id)| MemberAssignment {
            member_id: id.clone(),
            assignment: assignment(number, members.len()).to_blob(0).unwrap(),
        });
        let request = SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            assignments: assignments.collect(),
            ..SyncGroupRequest::default()
        };
        let Some(floor) = self.world.check(|checkers| Ok(checkers.group.floor())) else {
            return Ok(Vec::new());
        };
        let response = self.ask(3, &request).await?;
        accepted(response.error_code)?;
        let own = Assignment::from_blob(&response.assignment);
        let own = self.world.check(|_| {
            let unread =
                |error| Violation::new("members are assigned partitions", format!("{error}"));
            own.map_err(unread)
        });
        let topics = own.into_iter().flat_map(|own| own.assigned_partitions);
        let partitions: Vec<i32> = topics.flat_map(|topic| topic.partitions).collect();
        self.world.note("partitions assigned", &[self.generation.into()]);
        let claim = (self.generation, &*self.id);
        self.world.check(|checkers| checkers.group.assigned(claim, &partitions, &floor));
        Ok(partitions)
    }

    /// The offsets to resume from.
    async fn resume(&self, partitions: &[i32]) -> Result<Offsets, ErrorCode> {
        let Some(floor) = self.world.check(|checkers| Ok(checkers.group.floor())) else {
            return Ok(Offsets::new());
        };
        let known = committed(&self.world, self.coordinator, partitions.to_vec()).await?;
        self.world.check(|_| floor.only(partitions).judge(&known));
        let position = |number: &i32| (*number, known.get(number).copied().unwrap_or(0));
        Ok(partitions.iter().map(position).collect())
    }

    /// Commits for a generation.
    async fn commit(&self, generation: i32, positions: &Offsets) -> Result<(), ErrorCode> {
        let partition = |(number, offset): (&i32, &i64)| offset_commit::RequestPartition {
            partition_index: *number,
            committed_offset: *offset,
            ..offset_commit::RequestPartition::default()
        };
        let topic = offset_commit::RequestTopic {
            name: TOPIC.to_owned(),
            partitions: positions.iter().map(partition).collect(),
            ..offset_commit::RequestTopic::default()
        };
        let request = OffsetCommitRequest {
            group_id: GROUP.to_owned(),
            generation_id_or_member_epoch: generation,
            member_id: self.id.clone(),
            topics: vec![topic],
            ..OffsetCommitRequest::default()
        };
        let Some(floor) = self.world.check(|checkers| Ok(checkers.group.floor())) else {
            return Ok(());
        };
        let response = self.ask(8, &request).await?;
        for result in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let code = result.error_code;
            match code {
                ErrorCode::IllegalGeneration => self.world.note(FORMER_GENERATION, &[]),
                ErrorCode::UnknownMemberId => self.world.note(REMOVED_MEMBER, &[]),
                _ => {}
            }
            accepted(code)?;
        }
        self.world.note(COMMITTED, &[generation.into()]);
        self.world.check(|checkers| checkers.group.committed(generation, positions, &floor));
        Ok(())
    }

    async fn beat(&self) -> Result<(), ErrorCode> {
        let request = HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            ..HeartbeatRequest::default()
        };
        accepted(self.ask(3, &request).await?.error_code)
    }

    async fn leave(&mut self) -> Result<(), ErrorCode> {
        let member = leave_group::RequestMember {
            member_id: std::mem::take(&mut self.id),
            ..Default::default()
        };
        let request = LeaveGroupRequest {
            group_id: GROUP.to_owned(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        let response = self.ask(4, &request).await?;
        accepted(response.error_code)?;
        for member in response.members {
            accepted(member.error_code)?;
        }
        self.world.note("member left", &[]);
        Ok(())
    }
}

/// The partitions of one of some members.
fn assignment(number: usize, members: usize) -> Assignment {
    let partitions = (0..PARTITIONS).filter(|partition| partition % members == number);
    let partitions = partitions.map(|partition| i32::try_from(partition).unwrap()).collect();
    let topic = TopicPartitions { topic: TOPIC.to_owned(), partitions };
    Assignment { assigned_partitions: vec![topic], ..Assignment::default() }
}
