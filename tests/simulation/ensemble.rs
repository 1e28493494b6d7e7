//! The metadata store of the cluster: the shipped store in memory, behind links that delay and lose
//! messages or are cut, and with sessions that end after their time-out.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::Value;
use streamlog::io::Clock;
use streamlog::metadata::{
    MemoryStore, Node, Op, OpResult, SessionError, SessionId, Store, StoreError, StoreFuture, Watch,
};
use streamlog::types::{BrokerId, LeaderEpoch, TopicPartition};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::clock::VirtualClock;
use crate::world::{MACHINES, World};

/// The interval at which the store looks for sessions that have been silent for too long.
const TICK: Duration = Duration::from_millis(100);

/// One in this many messages of a transaction is lost.
const LOST_ONE_IN: u64 = 30;

/// The store, with the sessions of all machines.
pub(crate) struct Ensemble {
    clock: Arc<VirtualClock>,
    /// A session of nobody, from which the others are opened.
    origin: MemoryStore,
    sessions: Mutex<Vec<OpenSession>>,
    /// The number of reasons for which each machine does not reach the store.
    cut_off: [AtomicU32; MACHINES],
    /// True once a lost message may mean a lost connection.
    pub(crate) loses_connections: AtomicBool,
}

/// The edit of a partition's state by a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateEdit {
    Deleted,
    DeletedWithParent,
    Overwritten,
}

/// A session that the store has not ended, or whose broker has yet to learn that.
#[derive(Clone)]
struct OpenSession {
    machine: usize,
    store: Arc<MemoryStore>,
    has_expired: bool,
}

/// A session of a broker.
pub(crate) struct BrokerSession {
    world: Weak<World>,
    machine: usize,
    inner: Arc<MemoryStore>,
}

impl Ensemble {
    pub(crate) fn new(clock: &Arc<VirtualClock>) -> Self {
        let shared: Arc<dyn Clock> = Arc::<VirtualClock>::clone(clock);
        Self {
            clock: Arc::clone(clock),
            origin: MemoryStore::new(shared),
            sessions: Mutex::default(),
            cut_off: [const { AtomicU32::new(0) }; MACHINES],
            loses_connections: AtomicBool::new(false),
        }
    }

    /// The session of a person with a shell of the store.
    pub(crate) fn person(&self) -> &MemoryStore {
        &self.origin
    }

    /// The state of a partition as the store has it now, if it is there and can be read.
    pub(crate) async fn state(&self, partition: &TopicPartition) -> Option<Value> {
        let node = self.origin.get(&path_of_state(partition)).await.unwrap()?;
        serde_json::from_slice(&node.value).ok()
    }

    /// The state of a partition, where no task can wait.
    pub(crate) fn state_now(&self, partition: &TopicPartition) -> Option<Value> {
        let reading = pin!(self.state(partition));
        match reading.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(state) => state,
            Poll::Pending => panic!("a store in memory waits"),
        }
    }

    /// Deletes the state of a partition, with the node above it or without, or overwrites it with
    /// what nobody can read. Returns the leader epoch that it had; `None` if there was no state to
    /// be lost.
    pub(crate) async fn edit_state(
        &self,
        partition: &TopicPartition,
        edit: StateEdit,
    ) -> Option<LeaderEpoch> {
        let path = path_of_state(partition);
        let node = self.origin.get(&path).await.unwrap()?;
        let state: Value = serde_json::from_slice(&node.value).ok()?;
        let epoch = i32::try_from(state["leader_epoch"].as_i64()?).unwrap();
        let parent = path.trim_end_matches("/state").to_owned();
        let ops = match edit {
            StateEdit::Deleted => vec![Op::delete(path, node.version)],
            StateEdit::DeletedWithParent => {
                let version = self.origin.get(&parent).await.unwrap()?.version;
                vec![Op::delete(path, node.version), Op::delete(parent, version)]
            }
            StateEdit::Overwritten => vec![Op::set(path, "{", node.version)],
        };
        self.origin.multi(ops).await.ok()?;
        Some(LeaderEpoch(epoch))
    }

    /// Deletes the node of a broker that has registered before. Returns false if there was none, or
    /// the broker changed it at the same time.
    pub(crate) async fn delete_known_broker(&self, id: BrokerId) -> bool {
        let path = path_of_broker(id);
        let Some(node) = self.origin.get(&path).await.unwrap() else { return false };
        self.origin.multi(vec![Op::delete(path, node.version)]).await.is_ok()
    }

    /// True if the node of a broker that has registered before is there.
    pub(crate) async fn knows(&self, id: BrokerId) -> bool {
        self.origin.get(&path_of_broker(id)).await.unwrap().is_some()
    }

    /// Cuts a machine off from the store, until it is repaired as often as it was cut off.
    pub(crate) fn cut_off(&self, machine: usize) {
        if self.cut_off[machine].fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        for session in self.lock().iter().filter(|session| session.machine == machine) {
            session.store.disconnect();
        }
    }

    /// Lets a machine reach the store again.
    pub(crate) fn repair(&self, machine: usize) {
        if self.cut_off[machine].fetch_sub(1, Ordering::Relaxed) == 1 {
            for session in self.lock().iter().filter(|session| session.machine == machine) {
                session.store.reconnect();
            }
        }
    }

    /// Ends the sessions of a machine at once.
    pub(crate) fn expire(&self, machine: usize) {
        self.expire_where(|session| session.machine == machine);
    }

    /// Notes that the process on a machine has ended, and ends its sessions, as its guard does.
    pub(crate) fn prove_end(&self, machine: usize) {
        for session in self.lock().iter().filter(|session| session.machine == machine) {
            session.store.prove_end();
        }
        self.expire(machine);
    }

    /// Ends sessions after their time-out, for ever.
    pub(crate) async fn end_silent_sessions(world: Arc<World>) {
        let ensemble = &world.ensemble;
        loop {
            sleep(TICK).await;
            let now = ensemble.clock.monotonic();
            let is_silent = |session: &OpenSession| {
                let heard = session.store.last_heard().unwrap_or(now);
                now.saturating_sub(heard) > MemoryStore::SESSION_TIMEOUT
            };
            for machine in ensemble.expire_where(is_silent) {
                world.note("session expired", &[index(machine)]);
            }
        }
    }

    /// Ends some sessions, and returns their machines.
    fn expire_where(&self, is_due: impl Fn(&OpenSession) -> bool) -> Vec<usize> {
        let mut sessions = self.lock();
        let due = |session: &&mut OpenSession| !session.has_expired && is_due(session);
        let mut machines = Vec::new();
        for session in sessions.iter_mut().filter(due) {
            session.store.expire();
            session.has_expired = true;
            machines.push(session.machine);
        }
        // Those that are cut off have yet to learn it.
        sessions.retain(|session| !session.has_expired || self.is_cut_off(session.machine));
        machines
    }

    fn open(&self, machine: usize) -> Option<Arc<MemoryStore>> {
        if self.is_cut_off(machine) {
            return None;
        }
        let store = Arc::new(self.origin.another());
        let opened = OpenSession { machine, store: Arc::clone(&store), has_expired: false };
        self.lock().push(opened);
        Some(store)
    }

    fn is_cut_off(&self, machine: usize) -> bool {
        self.cut_off[machine].load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BrokerSession {
    /// Opens a session from a machine; `None` if it does not reach the store.
    pub(crate) fn open(world: &Arc<World>, machine: usize) -> Option<Self> {
        let inner = world.ensemble.open(machine)?;
        Some(Self { world: Arc::downgrade(world), machine, inner })
    }

    /// Waits as long as a message to or from the store takes.
    async fn travel(&self) {
        if let Some(time) = self.world.upgrade().map(|world| world.store_delay()) {
            sleep(time).await;
        }
    }

    /// Has the store execute a transaction even if the broker is paused or ends meanwhile.
    async fn send(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
        let Some(world) = self.world.upgrade() else { return Err(out_of_reach()) };
        let changes_state = ops.iter().any(|op| op.path().ends_with("/state"));
        let is_lost = world.chance(LOST_ONE_IN);
        let (inner, delay) = (Arc::clone(&self.inner), world.store_delay());
        let (answer, answered) = oneshot::channel();
        world.start(async move {
            sleep(delay).await;
            if !is_lost {
                // The broker may have ended and not wait any more.
                let _ = answer.send(inner.multi(ops).await);
            }
        });
        let executed = answered.await;
        self.travel().await;
        let is_answer_lost = world.ensemble.is_cut_off(self.machine) || world.chance(LOST_ONE_IN);
        let loses_connections = world.ensemble.loses_connections.load(Ordering::Relaxed);
        if (is_lost || is_answer_lost) && loses_connections && !world.chance(3) {
            break_connection(&world, self.machine);
        }
        let executed = match executed {
            Ok(executed) if !is_answer_lost || executed.is_err() => executed,
            _ => Err(SessionError::OutcomeUnknown.into()),
        };
        match &executed {
            Err(StoreError::Session(SessionError::OutcomeUnknown)) if changes_state => {
                world.note("outcome unknown", &[index(self.machine)]);
            }
            Err(StoreError::BadVersion { .. }) if changes_state => {
                world.note("refused change", &[index(self.machine)]);
            }
            _ => {}
        }
        executed
    }
}

fn path_of_state(TopicPartition { topic, partition }: &TopicPartition) -> String {
    format!("/brokers/topics/{topic}/partitions/{partition}/state")
}

fn path_of_broker(id: BrokerId) -> String {
    format!("/streamlog/brokers/{id}")
}

/// Cuts a machine off for a while, as a lost message mostly means a lost connection.
fn break_connection(world: &Arc<World>, machine: usize) {
    world.ensemble.cut_off(machine);
    let ended = Arc::clone(world);
    world.start(async move {
        sleep(ended.millis(1, 2_000)).await;
        ended.ensemble.repair(machine);
    });
}

fn out_of_reach() -> StoreError {
    let (servers, reason) = ("simulated".to_owned(), "cut off".to_owned());
    SessionError::Unreachable { servers, reason }.into()
}

impl Store for BrokerSession {
    fn session(&self) -> SessionId {
        self.inner.session()
    }

    fn last_heard(&self) -> Option<Duration> {
        let heard = self.inner.last_heard()?;
        // The store has the true time, and a broker that of its machine.
        Some(self.world.upgrade()?.machines[self.machine].clock.boot_time(heard))
    }

    fn session_timeout(&self) -> Option<Duration> {
        self.inner.session_timeout()
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            self.travel().await;
            let world = self.world.upgrade().ok_or_else(out_of_reach)?;
            let opened = Self::open(&world, self.machine).ok_or_else(out_of_reach)?;
            Ok(Arc::new(opened) as Arc<dyn Store>)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.travel().await;
            self.inner.close().await
        })
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        Box::pin(async move {
            self.travel().await;
            self.inner.read(paths).await
        })
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move {
            self.travel().await;
            self.inner.children(path).await
        })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(async move {
            self.travel().await;
            self.inner.snapshot(path).await
        })
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(self.send(ops))
    }

    fn at_proven_end(&self, op: Op) {
        self.inner.at_proven_end(op);
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        Box::pin(async move {
            self.travel().await;
            self.inner.watch(subtrees).await
        })
    }
}

impl fmt::Debug for BrokerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerSession({} of machine {})", self.inner.session(), self.machine)
    }
}

/// The number of a machine, as events have it.
pub(crate) fn index(machine: usize) -> i64 {
    i64::try_from(machine).unwrap_or(i64::MAX)
}
