//! The steps of a startup, in order: data, then metadata.

use std::sync::Arc;

use crate::engine::matching::{
    RecordedTokens, match_logs, renew_older_copy, require_cluster, require_journal,
    require_own_metadata, restore_lost_logs,
};
use crate::engine::{EngineConfig, EngineError, Environment, Failure, Losses};
use crate::io::{Share, World, raise_open_file_limit, usable_memory};
use crate::metadata::{
    DirectoryPlace, EmbeddedStore, Listener, LogReports, Metadata, MetadataConfig, MetadataError,
    Registration, Store,
};
use crate::replication::{LocalLogs, Partitions};
use crate::storage::{
    CleanupPolicy, DataDir, DataDirOptions, FlushListener, Flusher, LogConfig, LogConfigs, Opener,
    StorageError, Upkeep, UpkeepListener,
};
use crate::types::WithCauses;

/// The metadata's directory within the data directory.
pub(crate) const METADATA_DIR: &str = "metadata";

/// Opens the data directory, recovers logs where necessary, and starts maintenance and the flusher,
/// unless there are no threads for them.
///
/// A new directory becomes one of the cluster `cluster_id`, or of a new cluster if that is `None`.
pub(crate) fn open_data(
    config: &EngineConfig,
    cluster_id: Option<String>,
    Environment { world, executor, .. }: &Environment,
    partitions: &Arc<Partitions>,
    failure: &Arc<Failure>,
) -> Result<Arc<LocalLogs>, EngineError> {
    let has_threads = executor.has_threads();
    if has_threads {
        raise_open_file_limit().map_err(EngineError::System)?;
    }
    let options = DataDirOptions {
        opener: Opener { cluster_id, broker_id: config.broker_id },
        boot_id: world.disk.boot_id().map_err(EngineError::System)?,
        configs: configs(&config.log, Arc::clone(partitions)),
        producers: config.producers,
        recovery_threads: config.recovery_threads,
        keep_deleted: config.log.file_delete_delay,
        open_files: Share::OfProcess,
    };
    let path = &config.data_dir;
    let data = DataDir::open(world.clone(), path, options)?;
    report(&data);
    let data = Arc::new(data);
    let watched = Arc::clone(partitions);
    let listener = UpkeepListener {
        high_watermarks: Box::new(move || watched.high_watermarks()),
        on_fatal: fatal(failure),
    };
    let clock = Arc::clone(&world.clock);
    let start = if has_threads { Upkeep::start } else { Upkeep::without_threads };
    let upkeep = Arc::new(start(Arc::clone(&data), clock, config.upkeep, listener)?);
    let informed = Arc::clone(&upkeep);
    let listener = FlushListener {
        on_flushed: Box::new(move |flushed| informed.flushed(flushed.bytes)),
        on_fatal: fatal(failure),
    };
    let world = World { disk: Arc::clone(data.disk()), ..world.clone() };
    let start = if has_threads { Flusher::start } else { Flusher::without_threads };
    let flusher = Arc::new(start(world, path, config.flusher, listener)?);
    Ok(Arc::new(LocalLogs { data, flusher, upkeep }))
}

/// The settings with which a log is opened: those of its topic if the partition is already known;
/// otherwise the broker's, without deletion and compaction, which the topic may exclude.
fn configs(defaults: &LogConfig, partitions: Arc<Partitions>) -> LogConfigs {
    let defaults = defaults.clone();
    Arc::new(move |id, metadata| {
        let topic = partitions.topic_by_id(metadata.topic_id).filter(|t| t.name == id.topic);
        match topic.as_ref().and_then(|topic| topic.partition(id.partition)) {
            Some(partition) => partition.config(),
            None => Arc::new(LogConfig {
                offset_unit: metadata.offset_unit,
                cleanup_policy: CleanupPolicy::NONE,
                ..defaults.clone()
            }),
        }
    })
}

/// Returns the handler of disk failures: it stops the broker.
fn fatal(failure: &Arc<Failure>) -> Box<dyn Fn(&StorageError) + Send + Sync> {
    let failure = Arc::clone(failure);
    Box::new(move |error| failure.report(WithCauses(error).to_string()))
}

/// Logs the result of recovery.
fn report(data: &DataDir) {
    let start = data.start_report();
    let path = data.path().display();
    if start.was_clean {
        tracing::info!("'{path}' was stopped in order");
    } else if start.recovered > 0 {
        tracing::info!("'{path}' was not stopped in order: {} logs recovered", start.recovered);
    }
    if start.had_failed_sync {
        tracing::warn!("a sync of '{path}' had failed: recovered as after a power failure");
    }
    for (partition, reason) in &start.closed {
        tracing::error!("{partition}: {reason}");
    }
    for name in &start.rebuilt {
        tracing::warn!("the checkpoint {name} was damaged and is rebuilt");
    }
    for path in &start.quarantined {
        tracing::warn!("moved to '{}': no log or checkpoint has such a name", path.display());
    }
    for (path, reason) in &start.left_alone {
        let path = path.display();
        tracing::warn!("left '{path}' alone: no log or checkpoint has such a name, and {reason}");
    }
    for partition in start.missing.keys() {
        tracing::error!("the log of {partition} is gone: it had records when the broker stopped");
    }
}

/// Opens the metadata, in `store` or else in the data directory, and registers this broker, which
/// may become a leader from then on. Also returns the replicas whose disk has lost records.
pub(crate) async fn open_metadata(
    config: &EngineConfig,
    Environment { world, store, executor, .. }: Environment,
    data: &Arc<DataDir>,
    listeners: Vec<Listener>,
) -> Result<(Metadata, Losses), EngineError> {
    let is_shared = store.is_some();
    let store = match store {
        Some(store) => {
            require_cluster(data, &*store).await?;
            store
        }
        None => open_journal(data)?,
    };
    let (identity, rules) = (data.identity(), config.metadata.rules);
    let defaults = MetadataConfig {
        min_insync_replicas: config.log.min_insync_replicas_set.map(|count| count as usize),
        write_caching: config.log.write_caching,
        ..config.metadata.clone()
    };
    let metadata = Metadata::open(
        store,
        world.clock,
        config.broker_id,
        Some(&identity.cluster_id),
        defaults.limited_by(usable_memory()),
    );
    let mut metadata = metadata.await?;
    match_logs(data, &metadata.image().borrow(), is_shared)?;
    restore_lost_logs(data, &metadata.image().borrow(), config.broker_id)?;
    let may_have_lost = is_shared && rules.looks_for_losses();
    let losses = Losses::find(config.broker_id, data, &metadata.image().borrow(), may_have_lost)?;
    if is_shared {
        if !data.identity().is_on_zookeeper {
            data.move_to_zookeeper()?;
        }
        renew_older_copy(data, &metadata.image().borrow(), (config.broker_id, rules))?;
        let tokens = RecordedTokens::new(Arc::clone(data), executor);
        metadata = metadata.with_directory(Arc::new(tokens));
    }
    let registration = Registration {
        listeners,
        rack: config.rack.clone(),
        // The directory id reveals a replaced disk to a shared store only. An embedded store is in
        // the directory itself, and is lost with it.
        directory_id: is_shared.then(|| data.identity().directory_id),
        token: None,
        boot_id: data.disk().boot_id().ok(),
        place: data.locked_inode().map(DirectoryPlace::from),
        clean_shutdown: data.start_report().was_clean,
        key_hash: None,
        session_timeout: None,
        is_stopping: false,
        lost: losses.replicas(),
        reports: LogReports::new(),
    };
    metadata.register(&registration).await?;
    Ok((metadata, losses))
}

/// Opens the store in the data directory.
fn open_journal(data: &DataDir) -> Result<Arc<dyn Store>, EngineError> {
    require_own_metadata(data)?;
    let dir = data.path().join(METADATA_DIR);
    require_journal(&**data.disk(), data, &dir)?;
    let store = EmbeddedStore::open(Arc::clone(data.disk()), &dir).map_err(MetadataError::from)?;
    Ok(Arc::new(store))
}
