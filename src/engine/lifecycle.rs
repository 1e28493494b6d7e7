//! The start and the end of an engine.

use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::engine::control::{COLD_READS, Control};
use crate::engine::startup::{open_data, open_metadata};
use crate::engine::topology::follow;
use crate::engine::{
    EngineConfig, EngineError, EngineHandle, EngineState, Failure, PartitionsListener,
};
use crate::io::{Clock, Disk};
use crate::metadata::Listener;
use crate::replication::Partitions;
use crate::types::WithCauses;

/// Threads that may wait for a disk on behalf of the control thread, besides those of cold reads.
const BLOCKING_THREADS: usize = 4;

/// An open data directory with its partitions, which works until it is stopped or its disk fails.
pub(crate) struct Engine {
    state: Arc<EngineState>,
    runtime: Runtime,
    is_stopped: bool,
}

impl Engine {
    /// Opens the data directory and registers this broker, which clients reach by `addresses`.
    /// `runtime` runs everything that is not on the path of records.
    ///
    /// # Errors
    /// When the data directory cannot be used.
    pub(crate) fn open(
        config: EngineConfig,
        addresses: Vec<Listener>,
        world: (&Arc<dyn Disk>, &Arc<dyn Clock>),
        runtime: Runtime,
    ) -> Result<Self, EngineError> {
        let failure = Arc::new(Failure::default());
        let partitions = Arc::new(Partitions::default());
        let logs = open_data(&config, world, Arc::clone(&partitions), &failure)?;
        let metadata = runtime.block_on(open_metadata(&config, world.1, &logs.data, addresses))?;
        let state = Arc::new(EngineState {
            partitions,
            control: Control::new(runtime.handle().clone(), Arc::clone(&failure)),
            stopping: failure.stopping.clone(),
            failure,
            metadata,
            config,
            clock: Arc::clone(world.1),
            logs,
            applied: watch::Sender::new(()),
            listener: OnceLock::new(),
        });
        let (flusher, control) = (Arc::downgrade(&state.logs.flusher), state.control.clone());
        state.logs.upkeep.yield_to(move || {
            control.is_reading() || flusher.upgrade().is_some_and(|flusher| flusher.is_busy())
        });
        Ok(Self { state, runtime, is_stopped: false })
    }

    /// Leads the partitions that the metadata assigns to this broker, now and from now on, and
    /// tells `listener` of them. Called once.
    pub(crate) fn run(&self, listener: Arc<dyn PartitionsListener>) {
        let is_first = self.state.listener.set(listener).is_ok();
        assert!(is_first, "an engine was started twice");
        attend(&self.state);
        follow(&self.state);
    }

    /// The state shared by everything that works on the engine.
    pub(crate) fn state(&self) -> &Arc<EngineState> {
        &self.state
    }

    /// A handle for callers in this process.
    pub(crate) fn handle(&self) -> EngineHandle {
        EngineHandle::new(&self.state)
    }

    /// Ends it: everything is flushed, the next start needs no recovery.
    ///
    /// # Errors
    /// [`EngineError::Failed`] when the disk had failed, and the errors of the last flush.
    pub(crate) fn stop(&mut self) -> Result<(), EngineError> {
        if std::mem::replace(&mut self.is_stopped, true) {
            return Ok(());
        }
        let state = &self.state;
        state.stopping.cancel();
        self.runtime.block_on(state.control.finish());
        state.logs.flusher.stop();
        state.logs.upkeep.stop();
        let high_watermarks = state.partitions.high_watermarks();
        let led = state.partitions.topics();
        // Who still holds the engine's state holds no log any more, nor the directory's lock.
        state.partitions.replace([]);
        let closed = match state.failure.reason() {
            Some(reason) => Err(EngineError::Failed { reason }),
            None => state.logs.data.close(&high_watermarks).map_err(EngineError::from),
        };
        // After the last flush, which those who wait may be waiting for.
        for partition in led.iter().flat_map(|topic| topic.partitions()) {
            partition.stop("its data directory was closed");
        }
        // Handles may be left in other hands; they only read, and must not keep the next one out.
        state.logs.data.unlock();
        closed
    }
}

/// An engine that is dropped ends as if it had been told to; nobody hears how that went.
impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Keeps the metadata going for as long as the engine does; when that cannot be, it stops.
fn attend(state: &Arc<EngineState>) {
    let attending = Arc::clone(state);
    state.control.start(async move {
        tokio::select! {
            () = attending.stopping.cancelled() => {}
            error = attending.metadata.run() => {
                attending.failure.report(WithCauses(&error).to_string());
            }
        }
    });
}

/// One thread for the work, and a few beside it that wait for disks.
pub(crate) fn control_runtime() -> Result<Runtime, EngineError> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS + COLD_READS)
        .thread_name("streamlog-control")
        .enable_all()
        .build()
        .map_err(EngineError::System)
}
