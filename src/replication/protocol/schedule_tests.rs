//! Three replicas under a random schedule: the real state machines, with logs and a store in
//! memory.
//!
//! A schedule is a sequence of steps of brokers, of the network and of the store, with faults: lost
//! and late messages, lost answers of the store, sessions that expire under a living broker, power
//! failures and emptied disks. The invariants are checked after every step. A broker that pauses is
//! a broker that takes no step.

use std::collections::BTreeMap;
use std::time::Duration;

use super::broker_tests::{Broker, MemoryLog, Produced, Record, Role, index};
use super::promises_tests::Promises;
use super::{
    CountedFetch, EpochHistory, FetchAnswer, FetchOutcome, FetchPosition, FetchingReplica,
    Follower, FollowerStep, InSyncChange, Leader, LeaderStart, Rules,
};
use crate::io::SeededRandom;
use crate::metadata::{Caching, InSyncOutcome, Incarnation, IsrMember};
use crate::replication::cluster_tests::{
    BROKERS, LAG_MAX, Network, Node, PartitionStore, name, place,
};
use crate::types::{LeaderEpoch, Offset};

const STEPS: usize = 250;

/// A change on its way to the store.
#[derive(Debug)]
struct Write {
    author: usize,
    session: Incarnation,
    epoch: LeaderEpoch,
    change: InSyncChange,
}

#[derive(Debug)]
enum Message {
    Fetch { from: usize, to: usize, incarnation: Incarnation, position: FetchPosition },
    Answer { to: usize, answer: FetchAnswer, records: Vec<Record> },
}

/// The numbers of events in a schedule; without them, a schedule would test little.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Events {
    pub(super) elections: u32,
    pub(super) truncations: u32,
    pub(super) joins: u32,
    pub(super) refusals: u32,
    pub(super) unknown: u32,
    pub(super) acknowledged: u32,
}

pub(super) struct World {
    rules: Rules,
    random: SeededRandom,
    brokers: Vec<Broker>,
    store: PartitionStore,
    registered: [Option<Incarnation>; BROKERS],
    directories: BTreeMap<Incarnation, u32>,
    writes: Vec<Write>,
    network: Network<Message>,
    promises: Promises,
    now: Duration,
    numbers: u32,
    pub(super) events: Events,
}

/// Runs the schedule of a seed. Returns the code of the first invariant that it breaks.
pub(super) fn run(rules: Rules, seed: u64) -> (Option<&'static str>, Events) {
    let mut world = World::new(rules, seed);
    for _ in 0..STEPS {
        let broken = world.step().or_else(|| world.settle()).or_else(|| world.violation());
        if broken.is_some() {
            return (broken, world.events);
        }
    }
    (None, world.events)
}

impl World {
    fn new(rules: Rules, seed: u64) -> Self {
        let registered = [1, 2, 3].map(|number| Some(Incarnation(number)));
        let brokers = registered.map(|incarnation| Broker {
            is_running: true,
            incarnation: incarnation.unwrap(),
            directory: u32::try_from(incarnation.unwrap().0).unwrap(),
            log: MemoryLog::default(),
            high_watermark: Offset::ZERO,
            role: Role::None,
            epoch: LeaderEpoch::NONE,
            produced: Vec::new(),
            registered,
        });
        let directories = brokers.iter().map(|broker| (broker.incarnation, broker.directory));
        let member = |(id, broker): (usize, &Broker)| IsrMember {
            broker: name(id),
            incarnation: broker.incarnation,
        };
        let node = Node::led_by_first(brokers.iter().enumerate().map(member).collect());
        Self {
            rules,
            random: SeededRandom::new(seed),
            directories: directories.collect(),
            brokers: brokers.into(),
            store: PartitionStore::of(node),
            registered,
            writes: Vec::new(),
            network: Network::new(),
            promises: Promises::default(),
            now: Duration::ZERO,
            numbers: 0,
            events: Events::default(),
        }
    }

    fn step(&mut self) -> Option<&'static str> {
        let id = self.random.index(BROKERS);
        match self.random.below(100) {
            0..10 => self.produce(id),
            10..24 => self.flush(id),
            24..38 => self.fetch(id),
            38..66 => return self.deliver(),
            66..74 => self.learn(id),
            74..80 => self.read_state(id),
            80..86 => self.write(),
            86..92 => self.control(),
            92..95 => self.remove_lagging(id),
            95 => self.expire(id),
            96 => self.lose_power(id),
            97 => self.empty_disk(id),
            _ => self.start(id),
        }
        None
    }

    fn produce(&mut self, id: usize) {
        let broker = &mut self.brokers[id];
        if broker.is_running && matches!(broker.role, Role::Leader(_)) {
            self.numbers += 1;
            let record = Record { epoch: broker.epoch, number: self.numbers };
            broker.produced.push(Produced { offset: broker.log.records.len(), record });
            broker.log.records.push(record);
            self.report_stored(id);
        }
    }

    /// Begins a flush, or ends the one under way.
    fn flush(&mut self, id: usize) {
        let Broker { is_running: true, log, .. } = &mut self.brokers[id] else { return };
        match log.flushing.take() {
            Some(end) => log.flushed = log.flushed.max(end),
            None => log.flushing = Some(log.records.len()),
        }
        self.report_stored(id);
    }

    /// Tells the state machine of a broker up to which offset its log is stored.
    fn report_stored(&mut self, id: usize) {
        let broker = &mut self.brokers[id];
        let stored = broker.log.stored(self.rules);
        match &mut broker.role {
            Role::Leader(leader) => _ = leader.flushed(stored),
            Role::Follower(follower) => follower.stored(stored),
            Role::None => {}
        }
        broker.note_watermark();
    }

    fn fetch(&mut self, id: usize) {
        let broker = &mut self.brokers[id];
        let Role::Follower(follower) = &mut broker.role else { return };
        let epochs = broker.log.epochs();
        let history = EpochHistory::new(&epochs, broker.log.end());
        let position = follower.position(history, broker.log.stored(self.rules), None);
        let to = place(follower.leader());
        let incarnation = broker.incarnation;
        self.network.send(Message::Fetch { from: id, to, incarnation, position });
    }

    /// Delivers a random message, so that messages may be late, or loses it.
    fn deliver(&mut self) -> Option<&'static str> {
        match self.network.next(&mut self.random)? {
            Message::Fetch { from, to, incarnation, position } => {
                self.count_fetch((from, incarnation), to, position);
                None
            }
            Message::Answer { to, answer, records } => self.take_answer(to, &answer, &records),
        }
    }

    fn count_fetch(
        &mut self,
        (from, incarnation): (usize, Incarnation),
        to: usize,
        position: FetchPosition,
    ) {
        let broker = &mut self.brokers[to];
        let Role::Leader(leader) = &mut broker.role else { return };
        let registered = broker.registered[from];
        let replica =
            FetchingReplica { broker: name(from), incarnation, registered, follows: None };
        let epochs = broker.log.epochs();
        let history = EpochHistory::new(&epochs, broker.log.end());
        let mut records = Vec::new();
        let outcome = match leader.fetched(replica, &position, history, self.now) {
            CountedFetch::Fenced | CountedFetch::RecordsLost => return,
            CountedFetch::Diverging { epoch, end } => FetchOutcome::Diverging { epoch, end },
            CountedFetch::Counted { change, .. } => {
                if let Some(change) = change {
                    let (session, epoch) = (broker.incarnation, broker.epoch);
                    self.writes.push(Write { author: to, session, epoch, change });
                    self.events.joins += 1;
                }
                let from = index(position.offset).min(broker.log.records.len());
                records.extend(broker.log.records[from..].iter().take(2));
                FetchOutcome::Records
            }
        };
        let high_watermark = leader.high_watermark();
        broker.note_watermark();
        let log_start = Offset::ZERO;
        let answer = FetchAnswer { position, outcome, high_watermark, log_start };
        self.network.send(Message::Answer { to: from, answer, records });
    }

    fn take_answer(
        &mut self,
        id: usize,
        answer: &FetchAnswer,
        records: &[Record],
    ) -> Option<&'static str> {
        let broker = &mut self.brokers[id];
        let Role::Follower(follower) = &mut broker.role else { return None };
        let epochs = broker.log.epochs();
        let history = EpochHistory::new(&epochs, broker.log.end());
        let step = follower.answered(answer, history, Offset::ZERO);
        broker.note_watermark();
        // Check the invariants before the log is truncated: other brokers may act in between.
        let violation = self.violation();
        let length = self.brokers[id].log.records.len();
        self.perform(id, step, records);
        violation.or_else(|| self.appended_by_leader(id, length))
    }

    fn perform(&mut self, id: usize, step: FollowerStep, records: &[Record]) {
        let broker = &mut self.brokers[id];
        let Role::Follower(follower) = &mut broker.role else { return };
        match step {
            FollowerStep::Discard | FollowerStep::Keep(_) => {}
            FollowerStep::Append => broker.log.records.extend(records),
            FollowerStep::Truncate(end) => {
                broker.log.truncate(end);
                follower.truncated(end);
                self.events.truncations += 1;
            }
            FollowerStep::StartOver(start) => unreachable!("no log starts at {start}"),
        }
        self.report_stored(id);
    }

    /// Invariant I33 of `ablation_tests.rs`: records that a follower has appended in an epoch are
    /// those of the epoch's leader.
    fn appended_by_leader(&self, id: usize, from: usize) -> Option<&'static str> {
        let broker = &self.brokers[id];
        let leads =
            |other: &&Broker| matches!(other.role, Role::Leader(_)) && other.epoch == broker.epoch;
        let leader = self.brokers.iter().find(leads)?;
        let mut appended = broker.log.records.iter().enumerate().skip(from);
        let is_its = |(at, record): (usize, &Record)| leader.log.records.get(at) == Some(record);
        (!appended.all(is_its)).then_some("I33")
    }

    /// Lets a broker read the state, and lead or follow accordingly.
    fn learn(&mut self, id: usize) {
        let (node, in_sync) = (self.store.node().clone(), self.store.in_sync());
        let broker = &mut self.brokers[id];
        if !broker.is_running || self.registered[id] != Some(broker.incarnation) {
            return;
        }
        broker.registered = self.registered;
        let leads = node.leader == id;
        let may_lead = self.rules.may_lead(node.incarnation, broker.incarnation);
        if node.epoch <= broker.epoch || (leads && !may_lead) {
            return;
        }
        broker.epoch = node.epoch;
        let high_watermark = broker.high_watermark;
        if leads {
            let start = LeaderStart {
                broker: name(id),
                epoch: node.epoch,
                log_end: broker.log.end(),
                high_watermark,
                in_sync,
                caching: Caching::Off,
                silent_until: Duration::ZERO,
            };
            broker.role = Role::Leader(Box::new(Leader::new(self.rules, start, self.now)));
        } else {
            let follower = Follower::new(self.rules, name(node.leader), node.epoch, high_watermark);
            let first = follower.first_step();
            broker.role = Role::Follower(follower);
            if let Some(step) = first {
                self.perform(id, step, &[]);
            }
        }
        self.report_stored(id);
    }

    /// Lets a leader read the state again: behind a sync, or from a server that may lag.
    fn read_state(&mut self, id: usize) {
        let broker = &self.brokers[id];
        if !matches!(broker.role, Role::Leader(_))
            || self.registered[id] != Some(broker.incarnation)
        {
            return;
        }
        let behind_sync = self.random.chance(3);
        if behind_sync {
            while let Some(sent) = self.writes.iter().position(|write| write.author == id) {
                let write = self.writes.swap_remove(sent);
                let is_carried_out = self.random.chance(2);
                if is_carried_out {
                    self.carry_out(&write);
                }
            }
        }
        let lag = if behind_sync { 0 } else { self.random.index(2) };
        let version = self.store.version() - i32::try_from(lag).unwrap();
        let Some(epoch) = self.store.node_at(version).map(|node| node.epoch) else { return };
        let Some(state) = self.store.in_sync_at(version) else { return };
        let broker = &mut self.brokers[id];
        if let Role::Leader(leader) = &mut broker.role
            && epoch == broker.epoch
        {
            leader.state_read(state, behind_sync);
            broker.note_watermark();
        }
    }

    /// Lets the store carry out a write, or breaks the connection of its author, who does not learn
    /// the outcome.
    fn write(&mut self) {
        if self.writes.is_empty() {
            return;
        }
        let chosen = self.random.index(self.writes.len());
        if self.random.chance(3) {
            // The connection is lost: the write may still arrive, or never.
            let Write { author, session, epoch, ref change } = self.writes[chosen];
            let id = change.id;
            self.answer_write((author, session, epoch), id, InSyncOutcome::Unknown);
            self.events.unknown += 1;
            return;
        }
        let write = self.writes.swap_remove(chosen);
        let outcome = self.carry_out(&write);
        self.events.refusals += u32::from(outcome == InSyncOutcome::Refused);
        let Write { author, session, epoch, change } = write;
        self.answer_write((author, session, epoch), change.id, outcome);
    }

    fn carry_out(&mut self, write: &Write) -> InSyncOutcome {
        let is_current = [-1, self.store.version()].contains(&write.change.version);
        let is_owned = self.registered[write.author] == Some(write.session);
        if !is_current || !is_owned {
            return InSyncOutcome::Refused;
        }
        let mut node = self.store.node().clone();
        node.change_to(write.change.members.clone());
        self.store.write(node);
        InSyncOutcome::Applied { version: self.store.version() }
    }

    fn answer_write(
        &mut self,
        (author, session, epoch): (usize, Incarnation, LeaderEpoch),
        id: u64,
        outcome: InSyncOutcome,
    ) {
        let broker = &mut self.brokers[author];
        if let Role::Leader(leader) = &mut broker.role
            && broker.incarnation == session
            && broker.epoch == epoch
        {
            leader.change_answered(id, outcome);
            broker.note_watermark();
        }
    }

    fn remove_lagging(&mut self, id: usize) {
        self.now += Duration::from_secs(self.random.below(12));
        let broker = &mut self.brokers[id];
        let Role::Leader(leader) = &mut broker.role else { return };
        if let Some(change) = leader.remove_lagging(self.now, LAG_MAX) {
            let (session, epoch) = (broker.incarnation, broker.epoch);
            self.writes.push(Write { author: id, session, epoch, change });
        }
    }

    /// Lets the controller remove members that are gone, and elect.
    fn control(&mut self) {
        for (broker, registered) in self.brokers.iter().zip(&mut self.registered) {
            if !broker.is_running && self.random.chance(2) {
                *registered = None;
            }
        }
        let node = self.store.node().clone();
        let stayed =
            |member: &&IsrMember| self.registered[place(member.broker)] == Some(member.incarnation);
        let returned = |member: &IsrMember| {
            let incarnation = self.registered[place(member.broker)]?;
            let is_same = self.directories[&incarnation] == self.directories[&member.incarnation];
            is_same.then_some(IsrMember { incarnation, ..*member })
        };
        let registered = self.registered[node.leader];
        let leader_stays = registered.is_some_and(|own| self.rules.may_lead(node.incarnation, own));
        let mut next = node.clone();
        let mut members: Vec<_> = node.members.iter().filter(stayed).copied().collect();
        if members.is_empty() {
            members = node.members.iter().filter_map(returned).collect();
        }
        if !members.is_empty() {
            next.change_to(members);
        } else if let Some(eligible) = node.eligible.iter().find_map(returned) {
            next.eligible.extend(&node.members);
            next.eligible.retain(|member| member.broker != eligible.broker);
            next.members = vec![eligible];
        } else {
            return;
        }
        let is_member = next.members.iter().any(|member| place(member.broker) == node.leader);
        if !(leader_stays && is_member) {
            let elected = next.members[self.random.index(next.members.len())];
            next.elect(elected);
        } else if next.members == node.members {
            return;
        }
        // A broker whose disk was emptied holds nothing any more.
        let directories = &self.directories;
        let registered = self.registered;
        next.eligible.retain(|member| {
            registered[place(member.broker)]
                .is_none_or(|now| directories[&now] == directories[&member.incarnation])
        });
        self.events.elections += u32::from(next.epoch != node.epoch);
        self.store.write(next);
    }

    /// Ends the session of a broker, which may continue to run without knowing it.
    fn expire(&mut self, id: usize) {
        self.registered[id] = None;
    }

    /// Ends a broker. Its log keeps a random part of the unflushed records.
    fn lose_power(&mut self, id: usize) {
        self.brokers[id].lose_power(&mut self.random);
    }

    /// Ends a broker, and replaces its disk.
    fn empty_disk(&mut self, id: usize) {
        if self.random.chance(2) {
            self.brokers[id].empty_disk();
        }
    }

    /// Starts a broker, or lets a running one replace a session that has ended.
    fn start(&mut self, id: usize) {
        let broker = &mut self.brokers[id];
        if broker.is_running && self.registered[id].is_some() {
            return;
        }
        let latest = self.directories.keys().next_back().unwrap();
        broker.incarnation = Incarnation(latest.0 + 1);
        // By rule R4, the end of a session ends its leadership, even if the process lives.
        let goes_on = self.rules.may_lead(Incarnation::UNKNOWN, broker.incarnation);
        if !(broker.is_running && goes_on) {
            broker.role = Role::None;
            broker.epoch = LeaderEpoch::NONE;
        }
        broker.is_running = true;
        self.directories.insert(broker.incarnation, broker.directory);
        self.registered[id] = Some(broker.incarnation);
    }

    /// Lets all leaders show records to consumers and answer producers.
    fn settle(&mut self) -> Option<&'static str> {
        let broken = self.promises.settle(&mut self.brokers, self.rules);
        self.events.acknowledged = self.promises.acknowledged();
        broken
    }

    /// The first invariant that does not hold.
    fn violation(&self) -> Option<&'static str> {
        self.promises.violation(&self.brokers, self.store.node(), &self.directories)
    }
}
