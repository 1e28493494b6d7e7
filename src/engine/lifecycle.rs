//! The start and the end of an engine.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::engine::control::{Control, SLOW_THREADS};
use crate::engine::startup::{open_data, open_metadata};
use crate::engine::{
    EngineConfig, EngineError, EngineHandle, EngineState, Environment, Executor, Failure,
    PartitionsListener,
};
use crate::engine::{local_data, topology};
use crate::io::World;
use crate::metadata::{Listener, Store, cluster_id, ensure_cluster_id};
use crate::replication::{DamageReports, InSyncChanges, LocalLogs, Partitions, Rules};
use crate::storage::{self, HighWatermarks};
use crate::types::{Latest, WithCauses};

/// Threads that may block on a disk for the control thread, in addition to those for slow work of
/// the shards.
const BLOCKING_THREADS: usize = 4;

/// The maximum wait for the metadata store when the engine stops.
const LEAVING_MAX: Duration = Duration::from_secs(1);

/// An open data directory with its partitions, which runs until it is stopped or its disk fails.
pub(crate) struct Engine {
    state: Arc<EngineState>,
    runtime: Runtime,
    is_stopped: bool,
}

impl Engine {
    /// Opens the data directory and registers this broker with the addresses that clients connect
    /// to. `runtime` runs the metadata, the groups and the calls that block on a disk. The metadata
    /// is in `store`, or in the data directory if there is none.
    ///
    /// # Errors
    /// If the data directory or the metadata cannot be used.
    pub(crate) fn open(
        config: EngineConfig,
        addresses: Vec<Listener>,
        world: &World,
        runtime: Runtime,
        store: Option<Arc<dyn Store>>,
    ) -> Result<Self, EngineError> {
        let executor = Executor::Threads(runtime.handle().clone());
        let environment = Environment { world: world.clone(), store, executor, rules: Rules::ALL };
        let state = runtime.block_on(EngineState::open(config, addresses, environment))?;
        Ok(Self { state, runtime, is_stopped: false })
    }

    /// Leads or follows the partitions that the metadata assigns to this broker, now and after each
    /// change, and notifies `listener`. Called once.
    pub(crate) fn run(&self, listener: Arc<dyn PartitionsListener>) {
        self.state.run(listener);
    }

    /// The state shared by all parts of the engine.
    pub(crate) fn state(&self) -> &Arc<EngineState> {
        &self.state
    }

    /// A handle for callers in this process.
    pub(crate) fn handle(&self) -> EngineHandle {
        EngineHandle::new(&self.state)
    }

    /// Completes `work` on the thread of the caller.
    pub(crate) fn complete<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Stops the engine: everything is flushed, and the next start needs no recovery.
    ///
    /// # Errors
    /// [`EngineError::Failed`] if the disk had failed, and the errors of the last flush.
    pub(crate) fn stop(&mut self) -> Result<(), EngineError> {
        self.end(true)
    }

    /// Ends the engine without leaving the cluster and without a last flush, as the end of its
    /// process does. Its disk and its metadata store must no longer be within its reach.
    #[cfg(feature = "broker")]
    pub(crate) fn abandon(&mut self, reason: &str) {
        self.state.failure.abandon(reason);
        // `end` only returns this reason as its error.
        let _ = self.end(false);
    }

    fn end(&mut self, leaves: bool) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.is_stopped, true) {
            return Ok(());
        }
        let state = &self.state;
        state.stopping.cancel();
        self.runtime.block_on(state.control.finish());
        // From here on no request is answered. Leave the cluster before the last flush, which may
        // take long: the other brokers go on without this replica at once.
        if leaves {
            self.leave();
        }
        state.logs.flusher.stop();
        match state.failure.reason() {
            Some(_) => state.logs.upkeep.abandon(),
            None => state.logs.upkeep.stop(),
        }
        let high_watermarks = state.partitions.high_watermarks();
        let led = state.partitions.topics();
        // Release the logs and the lock of the data directory, even if other tasks still hold the
        // engine's state.
        state.partitions.replace([]);
        let closed = match state.failure.reason() {
            Some(reason) => Err(EngineError::Failed { reason }),
            None => state.logs.data.close(&high_watermarks).map_err(EngineError::from),
        };
        // Stop the partitions only after the last flush: a request may be waiting for exactly that
        // flush.
        for partition in led.iter().flat_map(|topic| topic.partitions()) {
            partition.stop("its data directory was closed");
        }
        // Callers may still hold file handles. They only read, and must not prevent the next start.
        state.logs.data.unlock();
        closed
    }
}

impl EngineState {
    /// Opens the data directory, and registers this broker with the addresses that clients connect
    /// to.
    ///
    /// # Errors
    /// If the data directory or the metadata cannot be used.
    pub(crate) async fn open(
        config: EngineConfig,
        addresses: Vec<Listener>,
        environment: Environment,
    ) -> Result<Arc<Self>, EngineError> {
        let failure = Arc::new(Failure::default());
        let partitions = Arc::new(Partitions::default());
        let cluster_id = match &environment.store {
            None => None,
            Some(store) if storage::is_new(&*environment.world.disk, &config.data_dir)? => {
                Some(ensure_cluster_id(&**store).await?)
            }
            // Create no cluster in an empty store for a directory that already has records.
            Some(store) => cluster_id(&**store).await?,
        };
        let logs = open_data(&config, cluster_id, &environment, &partitions, &failure)?;
        let (executor, rules) = (environment.executor.clone(), environment.rules);
        let clock = Arc::clone(&environment.world.clock);
        let (metadata, losses) = open_metadata(&config, environment, &logs.data, addresses)
            .await
            .inspect_err(|_| close_unused(&logs))?;
        let applied_image = Mutex::new(metadata.current_image());
        let state = Arc::new(Self {
            partitions,
            control: Control::new(executor, Arc::clone(&failure)),
            stopping: failure.stopping.clone(),
            failure,
            metadata,
            config,
            rules,
            clock,
            logs,
            in_sync_changes: InSyncChanges::default(),
            damage_reports: DamageReports::default(),
            losses,
            applied_image,
            applied: Latest::new(()),
            listener: OnceLock::new(),
        });
        let (flusher, control) = (Arc::downgrade(&state.logs.flusher), state.control.clone());
        state.logs.upkeep.yield_to(move || {
            control.is_busy() || flusher.upgrade().is_some_and(|flusher| flusher.is_busy())
        });
        Ok(state)
    }

    /// Leads or follows the partitions that the metadata assigns to this broker, now and after each
    /// change, and notifies `listener`. Called once.
    pub(crate) fn run(self: &Arc<Self>, listener: Arc<dyn PartitionsListener>) {
        let is_first = self.listener.set(listener).is_ok();
        assert!(is_first, "an engine was started twice");
        attend(self);
        keep_lease(self);
        topology::follow(self);
        local_data::follow(self);
    }
}

impl Engine {
    /// Ends the session with the metadata store. Otherwise the other brokers would count this one
    /// as alive until the session's time-out.
    fn leave(&self) {
        let leaving = async { timeout(LEAVING_MAX, self.state.metadata.leave()).await };
        match self.runtime.block_on(leaving) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the session was not closed: {}", WithCauses(&error)),
            Err(_elapsed) => tracing::warn!("the metadata store did not close the session in time"),
        }
    }
}

/// Closes the data directory of an engine that does not start, so that the next start needs no
/// recovery if this one needed none. After a recovery, or with a log missing, the next start must
/// not look like one after a clean stop: the cluster would trust logs that have lost records.
fn close_unused(logs: &LocalLogs) {
    let start = logs.data.start_report();
    if !start.was_clean || start.recovered > 0 || !start.missing.is_empty() {
        return;
    }
    logs.flusher.stop();
    logs.upkeep.stop();
    if let Err(error) = logs.data.close(&HighWatermarks::default()) {
        tracing::warn!("the next start has to recover the logs: {}", WithCauses(&error));
    }
}

/// Dropping an engine stops it; errors are lost.
impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Runs the metadata for the lifetime of the engine, and stops the engine if it fails.
fn attend(state: &Arc<EngineState>) {
    let attending = Arc::clone(state);
    state.control.start(async move {
        tokio::select! {
            biased;
            () = attending.stopping.cancelled() => {}
            error = attending.metadata.run() => {
                attending.failure.report(WithCauses(&error).to_string());
            }
        }
    });
}

/// Keeps the lease of this broker. When it has run out, requests that wait are refused.
fn keep_lease(state: &Arc<EngineState>) {
    let keeping = Arc::clone(state);
    state.control.start(async move {
        let lease = keeping.metadata.keep_lease(|| keeping.partitions.lease_ended());
        keeping.stopping.run_until_cancelled(lease).await;
    });
}

/// Creates the control runtime: one worker thread, and a few threads that may block on disks.
pub(crate) fn control_runtime() -> Result<Runtime, EngineError> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS + SLOW_THREADS)
        .thread_name("streamlog-control")
        .enable_all()
        .build()
        .map_err(EngineError::System)
}
