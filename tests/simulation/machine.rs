//! A machine: its disk, and the process of its broker, which faults end, pause and start again.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use streamlog::io::faulty::FaultyDisk;
use streamlog::types::BrokerId;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::broker::Broker;
use crate::clock::VirtualClock;
use crate::disks;
use crate::ensemble::index;
use crate::gate::Gate;
use crate::world::World;

/// The pause before a broker that did not start is started again.
const START_PAUSE: Duration = Duration::from_millis(500);

/// A machine of the cluster.
pub(crate) struct Machine {
    pub(crate) index: usize,
    /// Closed while the process is paused.
    pub(crate) gate: Arc<Gate>,
    /// True while a fault is in force that another would disturb.
    pub(crate) is_faulty: AtomicBool,
    /// True while flushes take long.
    pub(crate) is_flushing_slowly: AtomicBool,
    /// True while the disk fails or is full.
    pub(crate) has_bad_disk: AtomicBool,
    pub(crate) clock: Arc<VirtualClock>,
    disk: Mutex<FaultyDisk>,
    /// A copy of the disk as it was once.
    older_disk: Mutex<Option<FaultyDisk>>,
    process: Mutex<Option<Arc<Process>>>,
}

/// A task of a process, which runs until it ends.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A process, from its start to its end.
pub(crate) struct Process {
    gate: Arc<Gate>,
    tasks: Mutex<JoinSet<()>>,
    has_ended: AtomicBool,
    /// True once its disk has failed: it does nothing more.
    pub(crate) has_failed: Arc<AtomicBool>,
    /// Set once the broker has registered.
    pub(crate) broker: OnceLock<Arc<Broker>>,
    /// The reason why the last attempt to start has failed.
    start_failure: Mutex<Option<String>>,
}

impl Machine {
    pub(crate) fn new(index: usize, seed: u64, clock: VirtualClock) -> Self {
        Self {
            index,
            gate: Arc::default(),
            is_faulty: AtomicBool::new(false),
            is_flushing_slowly: AtomicBool::new(false),
            has_bad_disk: AtomicBool::new(false),
            clock: Arc::new(clock),
            disk: Mutex::new(disks::empty(seed)),
            older_disk: Mutex::default(),
            process: Mutex::default(),
        }
    }

    /// The id of the broker.
    pub(crate) fn id(&self) -> BrokerId {
        BrokerId(i32::try_from(self.index).unwrap())
    }

    /// The disk as it is now.
    pub(crate) fn disk(&self) -> FaultyDisk {
        locked(&self.disk).clone()
    }

    /// The broker, once it has registered.
    pub(crate) fn broker(&self) -> Option<Arc<Broker>> {
        locked(&self.process)
            .as_ref()
            .filter(|process| !process.has_failed())?
            .broker
            .get()
            .cloned()
    }

    /// The reason why the last attempt to start the broker has failed.
    pub(crate) fn start_failure(&self) -> Option<String> {
        let process = locked(&self.process).clone()?;
        let failure = locked(&process.start_failure).clone();
        failure.filter(|_| process.broker.get().is_none())
    }

    /// True if the process has ended because its disk has failed.
    pub(crate) fn has_failed(&self) -> bool {
        locked(&self.process).as_ref().is_some_and(|process| process.has_failed())
    }

    /// Starts the process of the broker.
    pub(crate) fn start(&self, world: &Arc<World>) {
        let process = Arc::new(Process {
            gate: Arc::clone(&self.gate),
            tasks: Mutex::default(),
            has_ended: AtomicBool::new(false),
            has_failed: Arc::default(),
            broker: OnceLock::new(),
            start_failure: Mutex::default(),
        });
        let before = locked(&self.process).replace(Arc::clone(&process));
        assert!(before.is_none(), "machine {} runs two brokers", self.index);
        process.start(boot(Arc::clone(world), self.index, Arc::clone(&process)));
    }

    /// Ends the process as it is, if there is one.
    pub(crate) async fn kill(&self) {
        if let Some(broker) = self.end_tasks().await {
            broker.abandon();
        }
    }

    /// Lets the broker hand over what it leads, and ends it in order.
    pub(crate) async fn stop(&self) {
        let (resigned, is_resigned) = oneshot::channel();
        let is_asked = self.handle(|broker| async move {
            broker.resign().await;
            // The fault that waits for it may have ended.
            let _ = resigned.send(());
        });
        if !is_asked || is_resigned.await.is_err() {
            return self.kill().await;
        }
        if let Some(broker) = self.broker() {
            broker.end_flushes().await;
        }
        if let Some(broker) = self.end_tasks().await {
            broker.close().await;
            broker.abandon();
        }
    }

    /// Ends all tasks of the process where they are, and returns its broker.
    async fn end_tasks(&self) -> Option<Arc<Broker>> {
        let process = locked(&self.process).take()?;
        process.has_ended.store(true, Ordering::Relaxed);
        let mut tasks = std::mem::take(&mut *locked(&process.tasks));
        tasks.shutdown().await;
        process.broker.get().cloned()
    }

    /// Takes the power from the machine: what was not synced is lost in part.
    pub(crate) async fn cut_power(&self, seed: u64) {
        {
            let mut disk = locked(&self.disk);
            let after = disk.crash(seed).unwrap();
            *disk = after;
        }
        self.kill().await;
    }

    /// Replaces the disk by an empty one; the broker has ended.
    pub(crate) fn empty_disk(&self, seed: u64) {
        *locked(&self.disk) = disks::empty(seed);
    }

    /// Replaces the disk, and returns it; the broker has ended.
    pub(crate) fn replace_disk(&self, disk: FaultyDisk) -> FaultyDisk {
        std::mem::replace(&mut *locked(&self.disk), disk)
    }

    /// Copies the disk; the broker has ended.
    pub(crate) fn copy_disk(&self, seed: u64) {
        let copy = disks::copy_of(&locked(&self.disk), seed);
        *locked(&self.older_disk) = copy;
    }

    /// Replaces the disk by its last copy, if there is one; the broker has ended.
    pub(crate) fn roll_back_disk(&self) -> bool {
        let older = locked(&self.older_disk).take();
        let is_there = older.is_some();
        if let Some(older) = older {
            *locked(&self.disk) = older;
        }
        is_there
    }

    /// Gives a task to the broker; false if none runs.
    pub(crate) fn handle<F>(&self, work: impl FnOnce(Arc<Broker>) -> F) -> bool
    where
        F: Future<Output = ()> + 'static,
    {
        let process = locked(&self.process).clone();
        let Some(process) = process.filter(|process| !process.has_failed()) else { return false };
        let Some(broker) = process.broker.get() else { return false };
        process.start(work(Arc::clone(broker)));
        true
    }

    /// Fails if a task of the broker has panicked.
    pub(crate) fn check_tasks(&self) {
        if let Some(process) = &*locked(&self.process) {
            reap(&mut locked(&process.tasks));
        }
    }
}

impl Process {
    /// Starts a task of this process.
    pub(crate) fn start(&self, task: impl Future<Output = ()> + 'static) {
        if !self.has_ended.load(Ordering::Relaxed) {
            let mut tasks = locked(&self.tasks);
            reap(&mut tasks);
            tasks.spawn_local(self.gate.pass(&self.has_failed, task));
        }
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// Starts the broker until that succeeds, as a service manager does.
async fn boot(world: Arc<World>, machine: usize, process: Arc<Process>) {
    loop {
        match Broker::start(&world, machine, &process).await {
            Ok(broker) => {
                world.note("started", &[index(machine)]);
                let broker = process.broker.get_or_init(|| broker);
                for task in broker.run() {
                    process.start(task);
                }
                return;
            }
            Err(error) => {
                world.note("not started", &[index(machine)]);
                world.tell(|| format!("broker {machine} does not start: {error}"));
                *locked(&process.start_failure) = Some(error);
                sleep(START_PAUSE).await;
            }
        }
    }
}

/// Removes the tasks that have ended, and passes on the panic of one.
pub(crate) fn reap(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.try_join_next() {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// Every statement leaves the value consistent, so a poisoned lock is harmless.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
