//! The world of a run: machines, links, the store and the clients, all in one thread and from one
//! seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use streamlog::io::SeededRandom;
use streamlog::metadata::{MetadataConfig, PartitionState};
use streamlog::types::{LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::broker::Broker;
use crate::checkers::{Checkers, Violation};
use crate::clock::VirtualClock;
use crate::ensemble::Ensemble;
use crate::events::Events;
use crate::machine::{Machine, locked, reap};
use crate::network::{Letter, Network, Place};
use crate::zoo::Planted;

/// The number of machines.
pub(crate) const MACHINES: usize = 3;

/// The name of the topic.
pub(crate) const TOPIC: &str = "t";

/// The number of the topic's partitions.
pub(crate) const PARTITIONS: usize = 2;

/// One seed in this many has a group of consumers.
const GROUP_ONE_IN: u64 = 3;

/// One seed in this many has a short wait of elections.
const SHORT_WAIT_ONE_IN: u64 = 8;

/// The short wait; all machines return within the usual one.
const SHORT_ELECTION_WAIT: Duration = Duration::from_secs(2);

/// One run in this many has a topic with `write.caching` at times.
const CACHING_ONE_IN: u64 = 5;

/// The longest time for which a machine has been running when a run begins, in milliseconds.
const MAX_UPTIME_MS: u64 = 1_000_000_000;

/// The most parts in a million by which the clock of a machine is too fast or too slow.
const DRIFT_MAX: u64 = 2_000;

/// The requests that brokers have sent in the same moment, at most.
const LETTERS_MAX: usize = 1_000;

/// The longest wait for an answer over the network.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A cluster, its clients, and all that is known of what it has promised.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) planted: Planted,
    /// True if the topic has `write.caching` at times. Then no machine loses its power while a
    /// partition counts as caching, nor a sync, for which such a topic promises nothing.
    pub(crate) is_caching: bool,
    /// The time after which a leader is elected by the reports of too few replicas.
    pub(crate) election_wait: Duration,
    /// True if there is a group of consumers. Its offsets are in a partition of their own.
    pub(crate) has_group: bool,
    pub(crate) machines: Vec<Machine>,
    pub(crate) network: Network,
    pub(crate) ensemble: Ensemble,
    random: Mutex<SeededRandom>,
    events: Mutex<Events>,
    checkers: Mutex<Checkers>,
    violation: Mutex<Option<Violation>>,
    /// The last state of each partition that a broker has seen.
    states: Mutex<BTreeMap<TopicPartition, Arc<PartitionState>>>,
    /// The leader epoch of the last state of a partition that somebody has deleted or overwritten.
    lost_states: Mutex<BTreeMap<TopicPartition, LeaderEpoch>>,
    /// The last value that was produced.
    values: AtomicU64,
    /// True while clients produce.
    pub(crate) is_loaded: AtomicBool,
    /// The requests that brokers send to each other.
    letters: (Sender<Letter>, Mutex<Option<Receiver<Letter>>>),
    /// The tasks that belong to no broker: messages under way, clients, faults.
    tasks: Mutex<JoinSet<()>>,
    is_telling: bool,
}

impl World {
    /// A world whose brokers have not been started.
    pub(crate) fn new(seed: u64, planted: Planted) -> Arc<Self> {
        let clock = Arc::new(VirtualClock::begin());
        let mut random = SeededRandom::new(seed);
        let machine = |index| {
            let uptime = Duration::from_millis(random.below(MAX_UPTIME_MS));
            let drift = random.below(2 * DRIFT_MAX).cast_signed() - DRIFT_MAX.cast_signed();
            Machine::new(index, random.number(), clock.of_machine(uptime, drift))
        };
        let machines: Vec<Machine> = (0..MACHINES).map(machine).collect();
        for machine in &machines {
            planted.plant_in(&machine.disk());
        }
        let is_caching = random.chance(CACHING_ONE_IN);
        let (letters, received) = channel(LETTERS_MAX);
        Arc::new(Self {
            ensemble: Ensemble::new(&clock),
            clock,
            planted,
            is_caching,
            has_group: seed.is_multiple_of(GROUP_ONE_IN),
            election_wait: if seed % SHORT_WAIT_ONE_IN == 6 {
                SHORT_ELECTION_WAIT
            } else {
                MetadataConfig::default().election_wait
            },
            machines,
            network: Network::default(),
            random: Mutex::new(random),
            events: Mutex::default(),
            checkers: Mutex::default(),
            violation: Mutex::default(),
            states: Mutex::default(),
            lost_states: Mutex::default(),
            values: AtomicU64::new(0),
            is_loaded: AtomicBool::new(true),
            letters: (letters, Mutex::new(Some(received))),
            tasks: Mutex::default(),
            is_telling: std::env::var_os("STREAMLOG_TELL").is_some(),
        })
    }

    /// Starts a task that belongs to no broker.
    pub(crate) fn start(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = locked(&self.tasks);
        reap(&mut tasks);
        tasks.spawn_local(task);
    }

    /// Ends all brokers and tasks, and returns what was counted and the first violation.
    pub(crate) async fn end(&self) -> (Events, Option<Violation>) {
        let mut tasks = std::mem::take(&mut *locked(&self.tasks));
        tasks.shutdown().await;
        for machine in &self.machines {
            machine.kill().await;
        }
        (locked(&self.events).clone(), locked(&self.violation).clone())
    }

    /// All partitions.
    pub(crate) fn partitions(&self) -> Vec<TopicPartition> {
        let offsets =
            TopicPartition { topic: TopicName::consumer_offsets(), partition: PartitionIndex(0) };
        partitions_of_topic().chain(self.has_group.then_some(offsets)).collect()
    }

    /// True if a partition may have acknowledged records that are not flushed: its state in the
    /// store says that it caches, or has no leader, or is not there.
    pub(crate) async fn counts_as_caching(&self) -> bool {
        for partition in partitions_of_topic() {
            let state = self.ensemble.state(&partition).await;
            let is_off = |state: Value| state["caching"].is_null() && !state["leader"].is_null();
            if self.is_caching && !state.is_some_and(is_off) {
                return true;
            }
        }
        false
    }

    /// Sends a request of a broker, from any task.
    pub(crate) fn send(&self, letter: Letter) {
        // At the end of the run, nobody delivers it.
        let sent = self.letters.0.try_send(letter);
        assert!(!matches!(sent, Err(TrySendError::Full(_))), "a broker sends without a pause");
    }

    /// Brings the requests of brokers to other machines, and the answers back.
    pub(crate) async fn deliver(self: Arc<Self>) {
        let Some(mut letters) = locked(&self.letters.1).take() else { return };
        while let Some(Letter { from, to, request, reply }) = letters.recv().await {
            let world = Arc::clone(&self);
            self.start(async move {
                let answer = move |broker: Arc<Broker>| broker.answer(from, request);
                if let Some(Some(answer)) = world.ask((Place::Machine(from), to), answer).await {
                    // The process that has asked may have ended.
                    let _ = reply.send(answer);
                }
            });
        }
    }

    /// Asks the broker on a machine; `None` if no answer comes. The question goes on its way even
    /// if the caller does not wait for the answer.
    pub(crate) async fn ask<T, F>(
        self: &Arc<Self>,
        (from, to): (Place, usize),
        answer: impl FnOnce(Arc<Broker>) -> F + 'static,
    ) -> Option<T>
    where
        T: 'static,
        F: Future<Output = T> + 'static,
    {
        let (reply, replied) = oneshot::channel();
        let world = Arc::clone(self);
        self.start(async move {
            if !world.travel(from, Place::Machine(to)).await {
                return;
            }
            let (given, taken) = oneshot::channel();
            // The asker may be gone when the answer arrives, and the broker before it is given.
            let is_taken = world.machines[to].handle(|broker| {
                let answer = answer(broker);
                async move { drop(given.send(answer.await)) }
            });
            if !is_taken {
                return;
            }
            let Ok(answer) = taken.await else { return };
            if world.travel(Place::Machine(to), from).await {
                drop(reply.send(answer));
            }
        });
        timeout(ANSWER_TIMEOUT, replied).await.ok()?.ok()
    }

    /// Waits until a message arrives; returns false if it does not.
    async fn travel(&self, from: Place, to: Place) -> bool {
        let delay = match self.below(1000) {
            0 => Duration::from_millis(self.below(3000)),
            1..20 => Duration::from_millis(self.below(200)),
            _ => Duration::from_millis(self.below(3)),
        };
        sleep(delay).await;
        !self.network.is_cut(from, to)
    }

    /// The time that a message to or from the store takes.
    pub(crate) fn store_delay(&self) -> Duration {
        Duration::from_millis(if self.chance(50) { self.below(300) } else { self.below(3) })
    }

    /// A random number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        locked(&self.random).below(end)
    }

    /// A random index below `length`.
    pub(crate) fn index(&self, length: usize) -> usize {
        locked(&self.random).index(length)
    }

    /// True once in `one_in` calls.
    pub(crate) fn chance(&self, one_in: u64) -> bool {
        locked(&self.random).chance(one_in)
    }

    /// A random time between two numbers of milliseconds.
    pub(crate) fn millis(&self, least: u64, most: u64) -> Duration {
        Duration::from_millis(locked(&self.random).between(least, most))
    }

    /// Counts an event.
    pub(crate) fn note(&self, name: &'static str, numbers: &[i64]) {
        self.tell(|| format!("{name} {numbers:?}"));
        locked(&self.events).note(self.clock.elapsed(), name, numbers);
    }

    /// Prints a line for the reader of a single seed, if `STREAMLOG_TELL` is set.
    pub(crate) fn tell(&self, line: impl FnOnce() -> String) {
        if self.is_telling {
            eprintln!("{:>9.3} {}", self.clock.elapsed().as_secs_f64(), line());
        }
    }

    /// The number of events of a name so far.
    pub(crate) fn count(&self, name: &str) -> u64 {
        locked(&self.events).count(name)
    }

    /// A value that no record has yet.
    pub(crate) fn next_value(&self) -> u64 {
        self.values.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes a state of a partition as a broker sees it.
    pub(crate) fn observe(&self, partition: &TopicPartition, state: &Arc<PartitionState>) {
        let mut states = locked(&self.states);
        let before = states.get(partition).cloned();
        let order = |state: &PartitionState| (state.leader_epoch, state.created, state.version);
        if before.as_ref().is_some_and(|before| order(before) >= order(state)) {
            return;
        }
        states.insert(partition.clone(), Arc::clone(state));
        drop(states);
        let Some(before) = before else { return };
        let leader = state.leader.map_or(-1, |leader| leader.0.into());
        let numbers = [partition.partition.0.into(), state.leader_epoch.0.into(), leader];
        if state.leader_epoch > before.leader_epoch {
            self.note(if state.leader.is_some() { "elected" } else { "nobody leads" }, &numbers);
            if !before.eligible.is_empty()
                && !before.isr.iter().any(|member| Some(member.broker) == state.leader)
            {
                self.note("eligible replica elected", &numbers);
            }
        }
        match (before.unvouched.is_some(), state.unvouched.is_some()) {
            (false, true) => self.note("elected after the wait", &numbers),
            (true, false) if state.leader == before.leader => {
                self.note("leader confirmed", &numbers);
            }
            (true, false) => self.note("leader not confirmed", &numbers),
            _ => {}
        }
        if state.isr.len() > before.isr.len() {
            self.note("in-sync set grew", &numbers);
        } else if state.isr.len() < before.isr.len() {
            self.note("in-sync set shrank", &numbers);
        }
        if state.eligible.len() > before.eligible.len() {
            self.note("member stays eligible", &numbers);
        }
    }

    /// Notes that the state of a partition is lost, which had this leader epoch.
    pub(crate) fn note_lost_state(&self, partition: &TopicPartition, epoch: LeaderEpoch) {
        locked(&self.lost_states).insert(partition.clone(), epoch);
    }

    /// The leader epoch that the last lost state of a partition had.
    pub(crate) fn last_lost_epoch(&self, partition: &TopicPartition) -> Option<LeaderEpoch> {
        locked(&self.lost_states).get(partition).copied()
    }

    /// True if, by the store, every partition has a leader and all brokers as members, as they are
    /// registered.
    pub(crate) fn is_in_sync(&self) -> bool {
        let brokers: Option<Vec<_>> = self.machines.iter().map(Machine::broker).collect();
        let Some(brokers) = brokers else { return false };
        self.partitions().iter().all(|partition| {
            let state = self.ensemble.state_now(partition);
            state.is_some_and(|state| {
                !state["leader"].is_null() && brokers.iter().all(|broker| broker.is_in_sync(&state))
            })
        })
    }

    /// Lets the checkers judge something, and keeps the first violation.
    pub(crate) fn check<T>(
        &self,
        judge: impl FnOnce(&mut Checkers) -> Result<T, Violation>,
    ) -> Option<T> {
        match judge(&mut locked(&self.checkers)) {
            Ok(value) => Some(value),
            Err(violation) => {
                self.tell(|| format!("VIOLATION {violation:?}"));
                locked(&self.violation).get_or_insert(violation);
                None
            }
        }
    }

    /// True once an invariant is broken.
    pub(crate) fn is_broken(&self) -> bool {
        locked(&self.violation).is_some()
    }

    /// True if the run is broken; also if something has not come about within its time, which
    /// breaks the invariant of this name.
    pub(crate) fn is_over(
        &self,
        invariant: &'static str,
        begun: Duration,
        within: Duration,
    ) -> bool {
        self.check_tasks();
        if !self.is_broken() && self.clock.elapsed() > begun + within {
            let facts = format!("not within {} s", within.as_secs());
            self.check(|_| Err::<(), _>(Violation::new(invariant, facts)));
        }
        self.is_broken()
    }

    /// Fails if a task has panicked.
    pub(crate) fn check_tasks(&self) {
        reap(&mut locked(&self.tasks));
        self.machines.iter().for_each(Machine::check_tasks);
    }
}

/// The partitions of the topic.
fn partitions_of_topic() -> impl Iterator<Item = TopicPartition> {
    let topic: TopicName = TOPIC.parse().unwrap();
    (0..).take(PARTITIONS).map(move |number| TopicPartition {
        topic: topic.clone(),
        partition: PartitionIndex(number),
    })
}
