//! Thousands of random schedules: clients that join, stall, misbehave and die, a log that refuses
//! and lags, a coordinator that crashes and reloads its log. After each schedule the faults end and
//! the groups must become stable; then all clients stop, and no state may be left.
//!
//! `STREAMLOG_SEED=n` runs one schedule, `STREAMLOG_SEEDS=n` that many.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::checker_tests::Checker;
use super::scenario_tests::{Dice, TOPIC_ID, join, partition};
use crate::group::{
    Answer, Append, Claim, CommitRequest, Coordinator, Decision, DeleteOffsetsRequest, Generation,
    GroupConfig, GroupError, GroupFilter, GroupId, GroupRecord, GroupState, HeartbeatRequest,
    InstanceId, JoinRefusal, JoinRequest, Joined, LeaveRequest, Leaver, MemberId, NewOffset, Now,
    Request, SyncRequest, Ticket, Unavailable,
};
use crate::types::{LeaderEpoch, Timestamp, TopicId, each_seed};

/// A client process and its view of the group.
#[derive(Default)]
struct Client {
    group: Option<GroupId>,
    instance: Option<InstanceId>,
    member_id: Option<MemberId>,
    joined: Option<Joined>,
    is_assigned: bool,
    /// The pending request.
    waits_for: Option<Ticket>,
    /// True if the client was refused because the group is full.
    gave_up: bool,
}

/// The purpose of a ticket.
enum Asked {
    Join,
    Sync { claim: Claim },
    Heartbeat,
    Commit { offset: i64, given: Generation, announced: Generation },
    Leave,
    Other,
}

struct World {
    dice: Dice,
    config: GroupConfig,
    coordinator: Coordinator,
    now: Now,
    clients: Vec<Client>,
    appended: VecDeque<Append>,
    log: Vec<GroupRecord>,
    /// Unanswered requests, with their clients.
    open: BTreeMap<Ticket, (usize, Asked)>,
    tickets: u64,
    offsets: i64,
    checker: Checker,
    /// True once the faults have ended.
    is_healing: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let config = GroupConfig {
            initial_rebalance_delay: Duration::from_millis(dice.below(3) * 500),
            max_size: if dice.chance(30) { 2 } else { 1_000 },
            offsets_check_interval: Duration::from_hours(1),
            ..GroupConfig::default()
        };
        let client = |number: u64, dice: &mut Dice| Client {
            group: Some(GroupId::from(if number < 4 { "g0" } else { "g1" })),
            instance: dice.chance(40).then(|| InstanceId::from(&*format!("i{number}"))),
            ..Client::default()
        };
        let clients = (0..6).map(|number| client(number, &mut dice)).collect();
        let now = Now {
            wall: Timestamp::from_millis(1_000_000),
            monotonic: Duration::ZERO,
            may_expire: true,
        };
        let mut coordinator = Coordinator::new(config.clone());
        assert_eq!(coordinator.finish_loading(now), Decision::default());
        Self {
            dice,
            config,
            coordinator,
            now,
            clients,
            appended: VecDeque::new(),
            log: Vec::new(),
            open: BTreeMap::new(),
            tickets: 0,
            offsets: 0,
            checker: Checker::default(),
            is_healing: false,
        }
    }

    fn group(&self, client: usize) -> GroupId {
        self.clients[client].group.clone().unwrap()
    }

    fn send(&mut self, client: usize, asked: Asked, request: Request) {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        self.open.insert(ticket, (client, asked));
        self.clients[client].waits_for = Some(ticket);
        let decision = self.coordinator.handle(ticket, request, self.now);
        self.take(decision);
    }

    fn take(&mut self, decision: Decision) {
        for (ticket, answer) in decision.answers {
            let asked = self.open.remove(&ticket);
            let (client, asked) = asked.unwrap_or_else(|| panic!("{ticket:?} has its answer"));
            self.on_answer(client, ticket, &asked, answer);
        }
        self.appended.extend(decision.appends);
    }

    fn on_answer(&mut self, client: usize, ticket: Ticket, asked: &Asked, answer: Answer) {
        let group = self.group(client);
        let is_awaited = self.clients[client].waits_for == Some(ticket);
        if let (Asked::Join, Answer::Join(Ok(joined))) = (asked, &answer) {
            self.checker.on_joined(&group, joined);
        }
        if let (Asked::Sync { claim }, Answer::Sync(Ok(synced))) = (asked, &answer) {
            let member = (claim.member_id.clone().unwrap(), self.clients[client].instance.clone());
            self.checker.on_assigned(&group, claim.generation, &member, &synced.assignment);
        }
        if let (Asked::Commit { offset, given, announced }, Answer::Commit(Ok(_))) =
            (asked, &answer)
        {
            self.checker.on_committed(*offset, *given, *announced);
        }
        let client = &mut self.clients[client];
        if is_awaited {
            client.waits_for = None;
            client.learn(asked, answer);
        }
    }

    fn replicate(&mut self, count: usize) {
        for _ in 0..count {
            let Some(append) = self.appended.pop_front() else { return };
            self.checker.on_replicated(&append.records);
            self.log.extend(append.records);
            let decision = self.coordinator.replicated(append.id, self.now);
            self.take(decision);
        }
        self.checker.check_offsets(&mut self.coordinator, self.now);
    }

    fn refuse_any(&mut self) {
        if self.appended.is_empty() {
            return;
        }
        let index = self.dice.index(self.appended.len());
        let append = self.appended.remove(index).unwrap();
        let decision = self.coordinator.refused(append.id, Unavailable::NotAvailable, self.now);
        self.take(decision);
    }

    fn pass(&mut self, time: Duration) {
        self.now.monotonic += time;
        self.now.wall = self.now.wall.plus(time);
        for _ in 0..100 {
            let next = self.coordinator.next_deadline();
            if next.is_none_or(|deadline| deadline > self.now.monotonic) {
                return;
            }
            let decision = self.coordinator.on_deadline(self.now);
            self.take(decision);
        }
        panic!("the coordinator does not come to rest");
    }

    /// Crashes the broker; some of the appends in flight have reached the log.
    fn crash(&mut self) {
        let survivors = self.dice.index(self.appended.len() + 1);
        for append in self.appended.drain(..).take(survivors) {
            self.checker.on_replicated(&append.records);
            self.log.extend(append.records);
        }
        self.open.clear();
        for client in &mut self.clients {
            client.waits_for = None;
        }
        self.take_over();
    }

    fn unload(&mut self) {
        let decision = self.coordinator.unload(self.now);
        self.take(decision);
        assert!(self.open.is_empty(), "{} requests were never answered", self.open.len());
        self.crash();
    }

    fn take_over(&mut self) {
        self.checker.on_new_coordinator();
        self.coordinator = Coordinator::new(self.config.clone());
        for record in &self.log {
            self.coordinator.replay(&record.key, record.value.as_deref()).unwrap();
        }
        if self.dice.chance(30) {
            self.act_sensibly(0);
        }
        let decision = self.coordinator.finish_loading(self.now);
        self.take(decision);
        self.checker.check_offsets(&mut self.coordinator, self.now);
    }

    /// The next random event during the faulty phase.
    fn disturb(&mut self) {
        let client = self.dice.index(self.clients.len());
        match self.dice.below(100) {
            0..40 => self.act_sensibly(client),
            40..50 => self.act_wildly(client),
            50..66 => {
                let time = self.dice.below(4_000);
                self.pass(Duration::from_millis(time));
            }
            66..85 => {
                let count = self.dice.index(3) + 1;
                self.replicate(count);
            }
            85..88 => self.refuse_any(),
            88..92 => self.administrate(client),
            92..94 => self.clients[client].die(),
            // An impatient client repeats its request while the first is still open.
            94..97 => self.clients[client].waits_for = None,
            97 => self.crash(),
            98 => self.unload(),
            _ => self.leave(client),
        }
    }

    /// The next step of a well-behaved client.
    fn act_sensibly(&mut self, client: usize) {
        let state = &self.clients[client];
        if state.waits_for.is_some() || state.gave_up {
            return;
        }
        match state.joined.clone() {
            None => self.join(client),
            Some(joined) if !state.is_assigned => {
                let claim = self.claim(client, &joined);
                self.sync(client, claim, assign(&joined));
            }
            Some(joined) => {
                let claim = self.claim(client, &joined);
                if self.dice.chance(50) {
                    self.commit(client, claim);
                } else {
                    let request = HeartbeatRequest { group_id: self.group(client), claim };
                    self.send(client, Asked::Heartbeat, Request::Heartbeat(request));
                }
            }
        }
    }

    /// A step that no client should take.
    fn act_wildly(&mut self, client: usize) {
        let claim = Claim {
            member_id: self.clients[client].member_id.clone(),
            instance_id: self.clients[client].instance.clone().filter(|_| self.dice.chance(50)),
            generation: Generation(i32::try_from(self.dice.below(6)).unwrap() - 1),
        };
        match self.dice.below(4) {
            0 => self.join(client),
            1 if claim.member_id.is_some() => self.sync(client, claim, Vec::new()),
            2 => {
                let nobody =
                    Claim { member_id: None, instance_id: None, generation: Generation::NONE };
                self.commit(client, nobody);
            }
            _ => self.commit(client, claim),
        }
    }

    fn join(&mut self, client: usize) {
        let patience = if self.is_healing { 10 } else { self.dice.below(10) };
        let state = &self.clients[client];
        let request = JoinRequest {
            group_id: state.group.clone().unwrap(),
            member_id: state.member_id.clone(),
            instance_id: state.instance.clone(),
            new_member: Uuid::from_u64_pair(self.dice.next(), self.dice.next()),
            session_timeout: Duration::from_secs(6),
            rebalance_timeout: Duration::from_secs(patience),
            member_id_required: self.dice.chance(50),
            can_skip_assignment: self.dice.chance(50),
            ..join("client")
        };
        self.send(client, Asked::Join, Request::Join(request));
    }

    fn sync(&mut self, client: usize, claim: Claim, assignments: Vec<(MemberId, Bytes)>) {
        let request = SyncRequest {
            group_id: self.group(client),
            claim: claim.clone(),
            protocol_type: None,
            protocol: None,
            assignments,
        };
        self.send(client, Asked::Sync { claim }, Request::Sync(request));
    }

    fn commit(&mut self, client: usize, claim: Claim) {
        self.offsets += 1;
        let group_id = self.group(client);
        let offset = self.offsets;
        let given = claim.generation;
        let announced = self.checker.announced(&group_id);
        let new = NewOffset {
            partition: partition(if self.dice.chance(50) { "t" } else { "u" }),
            offset,
            leader_epoch: LeaderEpoch(3),
            metadata: "note".into(),
            topic_id: if self.dice.chance(90) { TOPIC_ID } else { TopicId::NONE },
        };
        let request = CommitRequest { group_id, claim, retention: None, offsets: vec![new] };
        let asked = Asked::Commit { offset, given, announced };
        self.send(client, asked, Request::Commit(request));
    }

    fn leave(&mut self, client: usize) {
        let state = &mut self.clients[client];
        let leaver =
            Leaver { member_id: state.member_id.take(), instance_id: state.instance.clone() };
        state.die();
        let request = LeaveRequest { group_id: self.group(client), members: vec![leaver] };
        self.send(client, Asked::Leave, Request::Leave(request));
    }

    fn administrate(&mut self, client: usize) {
        let group_id = self.group(client);
        let request = match self.dice.below(4) {
            0 => Request::DeleteGroups(vec![group_id]),
            1 => Request::ListGroups(GroupFilter::default()),
            2 => Request::DescribeGroups(vec![group_id]),
            _ => {
                let partitions = vec![partition("t"), partition("u")];
                Request::DeleteOffsets(DeleteOffsetsRequest { group_id, partitions })
            }
        };
        self.send(client, Asked::Other, request);
    }

    fn claim(&self, client: usize, joined: &Joined) -> Claim {
        Claim {
            member_id: Some(joined.member_id.clone()),
            instance_id: self.clients[client].instance.clone(),
            generation: joined.generation,
        }
    }

    /// Ends all faults: every group must become stable.
    fn heal(&mut self) {
        self.is_healing = true;
        for second in 0.. {
            if second % 10 == 0 {
                // Dead members that filled the group expire in time, so clients that gave up try
                // again.
                self.clients.iter_mut().for_each(|client| client.gave_up = false);
            }
            for client in 0..self.clients.len() {
                self.act_sensibly(client);
                self.replicate(usize::MAX);
            }
            self.pass(Duration::from_secs(1));
            self.replicate(usize::MAX);
            let settled = self.clients.iter().all(|client| client.is_assigned || client.gave_up);
            if settled && self.groups_are(GroupState::Stable) {
                return;
            }
            assert!(second < 400, "the groups do not settle");
        }
    }

    /// Stops all clients: first the memberships must go, then everything else.
    fn fall_silent(&mut self) {
        self.pass(Duration::from_mins(10));
        self.replicate(usize::MAX);
        self.pass(Duration::from_mins(10));
        self.replicate(usize::MAX);
        assert!(self.open.is_empty(), "{} requests were never answered", self.open.len());
        assert!(self.groups_are(GroupState::Empty));
        for _ in 0..8 * 24 {
            self.pass(Duration::from_hours(1));
            self.replicate(usize::MAX);
        }
        assert_eq!(self.coordinator.groups.len(), 0, "groups are left");
        assert_eq!(self.coordinator.in_flight.len(), 0, "appends are left");
        self.unload();
        assert_eq!(self.coordinator.groups.len(), 0, "groups are left in the log");
    }

    fn groups_are(&self, state: GroupState) -> bool {
        self.coordinator.groups.values().all(|group| group.state() == state)
    }
}

impl Client {
    fn die(&mut self) {
        *self =
            Self { group: self.group.clone(), instance: self.instance.clone(), ..Self::default() };
    }

    /// Updates the client's view as Kafka's clients do.
    fn learn(&mut self, asked: &Asked, answer: Answer) {
        let error = match answer {
            Answer::Join(Ok(joined)) => {
                self.member_id = Some(joined.member_id.clone());
                self.joined = Some(joined);
                self.is_assigned = false;
                return;
            }
            Answer::Sync(Ok(_)) => {
                self.is_assigned = true;
                return;
            }
            Answer::Join(Err(error))
            | Answer::Sync(Err(error))
            | Answer::Heartbeat(Err(error))
            | Answer::Commit(Err(error)) => error,
            _ => return,
        };
        match error {
            GroupError::Join(JoinRefusal::MemberIdRequired(id)) => self.member_id = Some(id),
            GroupError::Join(JoinRefusal::GroupFull(_)) => self.gave_up = true,
            GroupError::RebalanceInProgress => self.joined = None,
            // These errors make the client start over, even if a random commit of the faulty phase
            // caused them.
            GroupError::UnknownMemberId
            | GroupError::IllegalGeneration { .. }
            | GroupError::FencedInstanceId => self.die(),
            _ if matches!(asked, Asked::Sync { .. }) => self.joined = None,
            _ => {}
        }
    }
}

/// Assigns partitions 0 to 7 to the members known to the leader, one byte each.
fn assign(joined: &Joined) -> Vec<(MemberId, Bytes)> {
    let members = joined.members.iter().enumerate();
    // A leader skips the assignment by sending none.
    members
        .filter(|_| !joined.skip_assignment)
        .map(|(index, member)| {
            let own = (0_u8..8).filter(|p| usize::from(*p) % joined.members.len() == index);
            (member.member_id.clone(), own.collect())
        })
        .collect()
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    let events = 50 + world.dice.below(400);
    for _ in 0..events {
        world.disturb();
    }
    world.heal();
    world.fall_silent();
}

#[test]
fn groups_keep_their_invariants_under_any_schedule() {
    each_seed(5_000, run);
}
