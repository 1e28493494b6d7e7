//! A test harness: a coordinator with its clock and its log.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::group::{
    Answer, Append, Claim, CommitRequest, CommittedOffset, Coordinator, Decision,
    DeleteOffsetsRequest, FetchOffsetsRequest, Generation, GroupConfig, GroupError, GroupFilter,
    GroupId, GroupRecord, GroupState, HeartbeatRequest, InstanceId, JoinRefusal, JoinRequest,
    Joined, LeaveRequest, Leaver, MemberId, NewOffset, Now, OffsetResult, Protocol, Request,
    SyncRequest, Synced, Ticket, Unavailable,
};
use crate::types::{LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition};

pub(super) const SESSION: Duration = Duration::from_secs(10);
pub(super) const REBALANCE: Duration = Duration::from_mins(1);
/// The id of the topic whose offsets are committed.
pub(super) const TOPIC_ID: TopicId = TopicId([7; 16]);
pub(super) const DAY: Duration = Duration::from_hours(24);
pub(super) const UNKNOWN: GroupError = GroupError::UnknownMemberId;
pub(super) const REBALANCING: GroupError = GroupError::RebalanceInProgress;
pub(super) const DELAY: Duration = Duration::from_millis(50);

/// A coordinator whose appends are replicated at once, unless `replicates` is false.
pub(super) struct Scenario {
    pub(super) coordinator: Coordinator,
    pub(super) config: GroupConfig,
    pub(super) now: Now,
    pub(super) replicates: bool,
    /// The appends that are not replicated yet.
    pub(super) appended: VecDeque<Append>,
    /// The replicated records.
    pub(super) log: Vec<GroupRecord>,
    answers: BTreeMap<Ticket, Answer>,
    tickets: u64,
}

impl Scenario {
    pub(super) fn new() -> Self {
        Self::with(GroupConfig::default())
    }

    pub(super) fn with(config: GroupConfig) -> Self {
        let now = Now {
            wall: Timestamp::from_millis(1_000_000),
            monotonic: Duration::ZERO,
            may_expire: true,
        };
        let mut scenario = Self {
            coordinator: Coordinator::new(config.clone()),
            config,
            now,
            replicates: true,
            appended: VecDeque::new(),
            log: Vec::new(),
            answers: BTreeMap::new(),
            tickets: 0,
        };
        let decision = scenario.coordinator.finish_loading(now);
        scenario.take(decision);
        scenario
    }

    /// Sends a request and processes the resulting decision.
    pub(super) fn send(&mut self, request: Request) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let decision = self.coordinator.handle(ticket, request, self.now);
        self.take(decision);
        ticket
    }

    pub(super) fn take(&mut self, decision: Decision) {
        for (ticket, answer) in decision.answers {
            let earlier = self.answers.insert(ticket, answer);
            assert_eq!(earlier, None, "{ticket:?} was answered twice");
        }
        self.appended.extend(decision.appends);
        if self.replicates {
            self.replicate();
        }
    }

    /// Replicates all appends.
    pub(super) fn replicate(&mut self) {
        while let Some(append) = self.appended.pop_front() {
            self.log.extend(append.records);
            let decision = self.coordinator.replicated(append.id, self.now);
            self.take(decision);
        }
    }

    /// Refuses the oldest append.
    pub(super) fn refuse(&mut self) {
        let append = self.appended.pop_front().expect("something is appended");
        let decision = self.coordinator.refused(append.id, Unavailable::NotAvailable, self.now);
        self.take(decision);
    }

    /// Advances the clock, deadline by deadline.
    pub(super) fn advance(&mut self, by: Duration) {
        let end = self.now.monotonic + by;
        while let Some(deadline) = self.coordinator.next_deadline().filter(|at| *at <= end) {
            self.set_time(deadline.max(self.now.monotonic));
            let decision = self.coordinator.on_deadline(self.now);
            self.take(decision);
        }
        self.set_time(end);
    }

    pub(super) fn set_time(&mut self, monotonic: Duration) {
        let by = monotonic.abs_diff(self.now.monotonic);
        self.now = Now { wall: self.now.wall.plus(by), monotonic, ..self.now };
    }

    /// Starts a new coordinator that reads the log.
    pub(super) fn reload(&mut self) {
        let answers = std::mem::take(&mut self.answers);
        self.coordinator = Coordinator::new(self.config.clone());
        self.appended.clear();
        for record in &self.log {
            self.coordinator.replay(&record.key, record.value.as_deref()).expect("a sound record");
        }
        let decision = self.coordinator.finish_loading(self.now);
        self.take(decision);
        self.answers = answers;
    }

    pub(super) fn is_answered(&self, ticket: Ticket) -> bool {
        self.answers.contains_key(&ticket)
    }

    pub(super) fn answer(&mut self, ticket: Ticket) -> Answer {
        self.answers.remove(&ticket).unwrap_or_else(|| panic!("{ticket:?} has no answer"))
    }

    pub(super) fn joined(&mut self, ticket: Ticket) -> Result<Joined, GroupError> {
        match self.answer(ticket) {
            Answer::Join(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn synced(&mut self, ticket: Ticket) -> Result<Synced, GroupError> {
        match self.answer(ticket) {
            Answer::Sync(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn heartbeat(&mut self, joined: &Joined) -> Result<(), GroupError> {
        let request = HeartbeatRequest { group_id: group(), claim: claim(joined) };
        let ticket = self.send(Request::Heartbeat(request));
        match self.answer(ticket) {
            Answer::Heartbeat(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn send_commit(&mut self, claim: Claim, offset: i64) -> Ticket {
        self.send(Request::Commit(commit(claim, offset)))
    }

    pub(super) fn committed(&mut self, ticket: Ticket) -> Result<Vec<OffsetResult>, GroupError> {
        match self.answer(ticket) {
            Answer::Commit(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn commit(&mut self, claim: Claim, offset: i64) -> Result<(), GroupError> {
        let ticket = self.send_commit(claim, offset);
        self.committed(ticket).map(|fates| assert_eq!(fates, vec![(partition("t"), Ok(()))]))
    }

    pub(super) fn leave(
        &mut self,
        member_id: Option<MemberId>,
        instance: Option<&str>,
    ) -> Result<(), GroupError> {
        let leaver = Leaver { member_id, instance_id: instance.map(InstanceId::from) };
        let request = LeaveRequest { group_id: group(), members: vec![leaver] };
        let ticket = self.send(Request::Leave(request));
        match self.answer(ticket) {
            Answer::Leave(fates) => fates.and_then(|mut fates| fates.remove(0).1),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn fetch(&mut self) -> Option<CommittedOffset> {
        let partitions = Some(vec![partition("t")]);
        let request = FetchOffsetsRequest { group_id: group(), partitions };
        let ticket = self.send(Request::FetchOffsets(request));
        match self.answer(ticket) {
            Answer::FetchOffsets(Ok(mut offsets)) => offsets.remove(0).1,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn fetched(&mut self) -> Option<i64> {
        self.fetch().map(|committed| committed.offset)
    }

    pub(super) fn state(&mut self) -> GroupState {
        let ticket = self.send(Request::DescribeGroups(vec![group()]));
        match self.answer(ticket) {
            Answer::DescribeGroups(mut groups) => groups.remove(0).1.unwrap().state,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn join(&mut self, request: JoinRequest) -> Ticket {
        self.send(Request::Join(request))
    }

    pub(super) fn refused_join(&mut self, request: JoinRequest) -> GroupError {
        let ticket = self.join(request);
        self.joined(ticket).unwrap_err()
    }

    /// The member id with which a newcomer is told to join again, as in `JoinGroup` from version 4
    /// on.
    pub(super) fn pending(&mut self, client: &str) -> MemberId {
        match self.refused_join(JoinRequest { member_id_required: true, ..join(client) }) {
            GroupError::Join(JoinRefusal::MemberIdRequired(id)) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn delete_offsets(&mut self, topic: &str) -> Result<Vec<OffsetResult>, GroupError> {
        let partitions = vec![partition(topic)];
        let request = DeleteOffsetsRequest { group_id: group(), partitions };
        let ticket = self.send(Request::DeleteOffsets(request));
        match self.answer(ticket) {
            Answer::DeleteOffsets(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn delete_group(&mut self) -> Result<(), GroupError> {
        let ticket = self.send(Request::DeleteGroups(vec![group()]));
        match self.answer(ticket) {
            Answer::DeleteGroups(mut groups) => groups.remove(0).1,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn listed(&mut self, states: &[&str], types: &[&str]) -> Vec<(String, GroupState)> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let filter = GroupFilter { states: owned(states), types: owned(types) };
        let ticket = self.send(Request::ListGroups(filter));
        match self.answer(ticket) {
            Answer::ListGroups(Ok(groups)) => {
                groups.into_iter().map(|g| (g.group_id.to_string(), g.state)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Advances the clock while a member sends heartbeats.
    pub(super) fn live(&mut self, member: &Joined, time: Duration) {
        let end = self.now.monotonic + time;
        while self.now.monotonic < end {
            self.advance(SESSION / 2);
            assert_eq!(self.heartbeat(member), Ok(()));
        }
    }

    pub(super) fn exists(&mut self) -> bool {
        !self.listed(&[], &[]).is_empty()
    }

    /// Joins the members through the initial rebalance; returns the responses in the order of
    /// `requests`.
    pub(super) fn found(&mut self, requests: Vec<JoinRequest>) -> Vec<Joined> {
        let tickets: Vec<Ticket> =
            requests.into_iter().map(|request| self.send(Request::Join(request))).collect();
        while !tickets.iter().all(|ticket| self.is_answered(*ticket)) {
            self.advance(DELAY);
        }
        tickets.into_iter().map(|ticket| self.joined(ticket).unwrap()).collect()
    }

    /// Syncs all members; the leader assigns each its own id.
    pub(super) fn settle(&mut self, members: &[Joined]) {
        let leader = members.iter().find(|m| m.member_id == m.leader).expect("the leader is here");
        let assignments = leader.members.iter().map(|m| (m.member_id.clone(), blob(&m.member_id)));
        let assignments: Vec<_> = assignments.collect();
        for member in members {
            let own = if member == leader { assignments.clone() } else { Vec::new() };
            let ticket = self.send(sync(member, own));
            if member != leader && !self.is_answered(ticket) {
                continue;
            }
            self.synced(ticket).unwrap();
        }
        // Members that synced before the leader have their responses now.
        self.answers.clear();
    }

    /// Creates a stable group of `clients`.
    pub(super) fn stable(&mut self, clients: &[&str]) -> Vec<Joined> {
        let requests = clients.iter().map(|client| join(client)).collect();
        let members = self.found(requests);
        self.settle(&members);
        members
    }
}

/// A pseudo-random generator that depends on the seed alone.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub(super) fn group() -> GroupId {
    GroupId::from("orders")
}

pub(super) fn partition(topic: &str) -> TopicPartition {
    TopicPartition { topic: topic.parse().unwrap(), partition: PartitionIndex(0) }
}

pub(super) fn blob(id: &MemberId) -> Bytes {
    Bytes::copy_from_slice(id.as_str().as_bytes())
}

/// The first join of a dynamic member, admitted at once as in `JoinGroup` before version 4.
pub(super) fn join(client: &str) -> JoinRequest {
    JoinRequest {
        group_id: group(),
        member_id: None,
        instance_id: None,
        new_member: Uuid::new_v4(),
        client_id: client.into(),
        client_host: "/127.0.0.1".into(),
        session_timeout: SESSION,
        rebalance_timeout: REBALANCE,
        protocol_type: "consumer".into(),
        protocols: protocols(&["range"]),
        member_id_required: false,
        can_skip_assignment: true,
    }
}

pub(super) fn protocols(names: &[&str]) -> Vec<Protocol> {
    // A subscription to the topic `t`.
    let metadata = Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff");
    names.iter().map(|&name| Protocol { name: name.into(), metadata: metadata.clone() }).collect()
}

/// A repeated join of the member, with unchanged protocols.
pub(super) fn rejoin(joined: &Joined) -> JoinRequest {
    let client = joined.member_id.as_str().split('-').next().unwrap_or_default();
    JoinRequest { member_id: Some(joined.member_id.clone()), ..join(client) }
}

pub(super) fn static_join(instance: &str) -> JoinRequest {
    JoinRequest { instance_id: Some(InstanceId::from(instance)), ..join("client") }
}

pub(super) fn claim(joined: &Joined) -> Claim {
    Claim {
        member_id: Some(joined.member_id.clone()),
        instance_id: None,
        generation: joined.generation,
    }
}

/// A consumer without a group.
pub(super) fn nobody() -> Claim {
    Claim { member_id: None, instance_id: None, generation: Generation::NONE }
}

pub(super) fn sync_of(joined: &Joined) -> SyncRequest {
    SyncRequest {
        group_id: group(),
        claim: claim(joined),
        protocol_type: Some("consumer".into()),
        protocol: Some(joined.protocol.clone()),
        assignments: Vec::new(),
    }
}

pub(super) fn sync(joined: &Joined, assignments: Vec<(MemberId, Bytes)>) -> Request {
    Request::Sync(SyncRequest { assignments, ..sync_of(joined) })
}

pub(super) fn commit(claim: Claim, offset: i64) -> CommitRequest {
    CommitRequest {
        group_id: group(),
        claim,
        retention: None,
        offsets: vec![NewOffset {
            partition: partition("t"),
            offset,
            leader_epoch: LeaderEpoch::NONE,
            metadata: "".into(),
            topic_id: TOPIC_ID,
        }],
    }
}
