//! The engine as a value: what it starts, and in which order it ends.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::broker::context::{Failure, Shared};
use crate::broker::control::{COLD_READS, Control};
use crate::broker::coordinator::{Coordinators, forget_deleted_topics};
use crate::broker::core::Inside;
use crate::broker::core::startup::{open_data, open_metadata};
use crate::broker::fetch_session::FetchSessions;
use crate::broker::listeners::Listeners;
use crate::broker::topology::follow;
use crate::broker::{BrokerConfig, BrokerError};
use crate::config::ByteSize;
use crate::io::{Clock, Disk};
use crate::net::Budget;
use crate::replication::Partitions;
use crate::types::WithCauses;

/// Threads that may wait for a disk on behalf of the control thread, besides those of cold reads.
const BLOCKING_THREADS: usize = 4;

/// An open data directory with its partitions, that works until it is stopped or its disk fails.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    runtime: Runtime,
    is_stopped: bool,
}

impl Engine {
    /// Opens the data directory and takes office, with `runtime` for what is not on the way of
    /// records.
    ///
    /// # Errors
    /// When the data directory cannot be used.
    pub(crate) fn start(
        config: BrokerConfig,
        world: (&Arc<dyn Disk>, &Arc<dyn Clock>),
        runtime: Runtime,
    ) -> Result<Self, BrokerError> {
        Self::start_behind(Listeners::default(), config, world, runtime)
    }

    /// The same for a broker, whose clients come by these listeners.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(crate) fn start_behind(
        listeners: Listeners,
        config: BrokerConfig,
        world: (&Arc<dyn Disk>, &Arc<dyn Clock>),
        runtime: Runtime,
    ) -> Result<Self, BrokerError> {
        let failure = Arc::new(Failure::default());
        let partitions = Arc::new(Partitions::default());
        let logs = open_data(&config, world, Arc::clone(&partitions), &failure)?;
        let metadata = runtime.block_on(open_metadata(&config, world.1, &logs.data, &listeners))?;
        let request_memory =
            Budget::new(in_memory(config.request_memory), in_memory(config.frame_max));
        let shared = Arc::new(Shared {
            request_memory,
            fetch_sessions: FetchSessions::new(config.fetch_sessions_max),
            partitions,
            coordinators: Coordinators::default(),
            control: Control::new(runtime.handle().clone(), Arc::clone(&failure)),
            stopping: failure.stopping.clone(),
            failure,
            metadata,
            listeners,
            config,
            clock: Arc::clone(world.1),
            logs,
            applied: watch::Sender::new(()),
        });
        let (flusher, control) = (Arc::downgrade(&shared.logs.flusher), shared.control.clone());
        shared.logs.upkeep.yield_to(move || {
            control.is_reading() || flusher.upgrade().is_some_and(|flusher| flusher.is_busy())
        });
        attend(&shared);
        follow(&shared);
        forget_deleted_topics(&shared);
        Ok(Self { shared, runtime, is_stopped: false })
    }

    /// What its parts share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The way in for callers in this process.
    pub(crate) fn inside(&self) -> Inside {
        Inside::new(&self.shared)
    }

    /// Ends it: everything is flushed, the next start needs no recovery.
    ///
    /// # Errors
    /// [`BrokerError::Failed`] when the disk had failed, and the errors of the last flush.
    pub(crate) fn stop(&mut self) -> Result<(), BrokerError> {
        if std::mem::replace(&mut self.is_stopped, true) {
            return Ok(());
        }
        let shared = &self.shared;
        shared.stopping.cancel();
        self.runtime.block_on(shared.control.finish());
        shared.logs.flusher.stop();
        shared.logs.upkeep.stop();
        let high_watermarks = shared.partitions.high_watermarks();
        let led = shared.partitions.topics();
        // Who still holds the engine's state holds no log any more, nor the directory's lock.
        shared.partitions.replace([]);
        let closed = match shared.failure.reason() {
            Some(reason) => Err(BrokerError::Failed { reason }),
            None => shared.logs.data.close(&high_watermarks).map_err(BrokerError::from),
        };
        // After the last flush, which those who wait may be waiting for.
        for partition in led.iter().flat_map(|topic| topic.partitions()) {
            partition.stop("its data directory was closed");
        }
        // Handles may be left in other hands; they only read, and must not keep the next one out.
        shared.logs.data.unlock();
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
fn attend(shared: &Arc<Shared>) {
    let attending = Arc::clone(shared);
    shared.control.start(async move {
        tokio::select! {
            () = attending.stopping.cancelled() => {}
            error = attending.metadata.run() => {
                attending.failure.report(WithCauses(&error).to_string());
            }
        }
    });
}

/// A size as far as memory can have it.
fn in_memory(size: ByteSize) -> usize {
    usize::try_from(size.0).unwrap_or(usize::MAX)
}

/// One thread for the work, and a few beside it that wait for disks.
pub(crate) fn control_runtime() -> Result<Runtime, BrokerError> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS + COLD_READS)
        .thread_name("streamlog-control")
        .enable_all()
        .build()
        .map_err(BrokerError::System)
}
