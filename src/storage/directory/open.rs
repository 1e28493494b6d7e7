//! Opening a data directory.
//!
//! After a clean shutdown only small files are read, and the manifest becomes invalid before
//! anything is written to a log. Otherwise every log is recovered before the new run begins: if
//! that is interrupted, the next start still knows in which boot the last records were written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use crate::io::{Clock, DirLock, Disk, OpenFiles, ReportingDisk, World, create_dir_durably};
use crate::storage::directory::checkpoints::{Checkpoints, SharedCheckpoints, durable_points};
use crate::storage::directory::data_dir::{DataDir, DataDirOptions, StartReport};
use crate::storage::directory::identity::{Identity, Opener, has_metadata};
use crate::storage::directory::names::Meaning;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::directory::run::{FailedSyncs, Manifest, NamedLog, Run, RunFile, StoppedLog};
use crate::storage::directory::slot::Slot;
use crate::storage::directory::survey::{Survey, quarantine, require_empty};
use crate::storage::directory::{last_time, names};
use crate::storage::expendable::free_space_from_indexes;
use crate::storage::reserve::{Purpose, Reserve};
use crate::storage::skipping::AuditLog;
use crate::storage::{
    CheckpointOffsets, ColdReads, LogEnv, StartPoint, StorageError, Stored, small_file,
};
use crate::types::{Offset, Timestamp, TopicPartition, WithCauses};

/// The files left by the last run.
struct LastRun {
    run: Option<Run>,
    /// Logs that this run has not recovered, and that may have lost what was not synced.
    torn: Vec<NamedLog>,
    /// Logs that have lost records, as other brokers know.
    lost: Vec<NamedLog>,
    /// The manifest of this run; `None` if it was not shut down cleanly, or a sync has failed.
    manifest: Option<Manifest>,
    had_failed_sync: bool,
    checkpoints: Checkpoints,
}

impl DataDir {
    /// Opens a data directory, creating it if absent. All logs that the last run did not close
    /// cleanly are recovered; the others open at their first use.
    ///
    /// # Errors
    /// If another process has the directory open, the directory belongs to another broker or its
    /// identity is lost, a later release has written it, or the disk fails.
    pub fn open(
        World { disk, clock }: World,
        path: &Path,
        options: DataDirOptions,
    ) -> Result<Self, StorageError> {
        let files = OpenFiles::new(disk, options.open_files);
        let failed_syncs = Arc::new(FailedSyncs::of(Arc::new(files.clone()), path));
        let disk = reporting_disk(&files, &clock, &failed_syncs);
        let lock = take_lock(&*disk, path, &options.boot_id)?;
        let is_new = matches!(Identity::read(&*disk, &path.join(names::IDENTITY)), Ok(None));
        let identity = admit(&*disk, path, &options)?;
        let (plain, reserve) = (Arc::clone(&disk), open_reserve(&disk, path)?);
        free_space_from_indexes(&*disk, path, &reserve, |entry| {
            names::is_log_dir(&entry.name, entry.is_dir)
        })?;
        let disk = reserve.disk_for(Purpose::Upkeep);
        let (mut last_run, mut rebuilt) = LastRun::read(&*disk, path)?;
        let last_known_time = last_time::known(&*disk, path, &mut rebuilt)?;
        let survey = Survey::take(&*disk, &files, path)?;
        let slots = survey.logs.into_iter().map(|(partition, metadata)| {
            let start = last_run.start_point(&partition, &metadata, &options.boot_id);
            (partition.clone(), Arc::new(Slot::new(partition, metadata, start)))
        });
        let logs: BTreeMap<_, _> = slots.collect();
        last_run.record_missing(&logs);
        let due = clock.monotonic().saturating_add(options.keep_deleted);
        let run = last_run.next(&options.boot_id, (!is_new).then(|| clock.now()));
        let lost = std::mem::take(&mut last_run.lost);
        let mut directory = Self {
            run_file: Mutex::new(RunFile { run: run.clone(), torn: Vec::new(), lost }),
            run,
            failed_syncs,
            last_known_time,
            start: StartReport {
                rebuilt,
                quarantined: survey.quarantined,
                left_alone: survey.left_alone,
                ..last_run.report(&logs)
            },
            env: LogEnv {
                disk: plain,
                files,
                cold_reads: ColdReads::default(),
                reserve: Some(Arc::clone(&reserve)),
                clock,
                producers: options.producers,
            },
            disk,
            reserve,
            path: path.to_owned(),
            identity: RwLock::new(identity),
            logs: Mutex::new(logs),
            checkpoints: SharedCheckpoints::new(last_run.checkpoints),
            deleted: Mutex::new(survey.deleted.into_iter().map(|path| (due, path)).collect()),
            creation: Mutex::default(),
            removal: RwLock::default(),
            audit: AuditLog::at(path.join(names::AUDIT_LOG)),
            is_closed: Mutex::default(),
            lock: Mutex::new(Some(lock)),
            options,
        };
        directory.start.recovered = directory.recover()?;
        directory.start.closed = directory.closed_logs();
        directory.begin()?;
        Ok(directory)
    }

    /// Begins the run: from here on the last run's manifest is invalid.
    fn begin(&self) -> Result<(), StorageError> {
        let disk = &*self.disk;
        let change = self.checkpoints.change();
        let logs = self.lock_logs();
        let mut checkpoints = change.offsets();
        // The offsets of a missing log tell other replicas which records it had.
        let StartReport { missing, gone, .. } = &self.start;
        checkpoints.retain(|log| {
            logs.contains_key(log) || missing.contains_key(log) || gone.contains(log)
        });
        for slot in logs.values().filter(|slot| slot.is_known()) {
            checkpoints.set(slot.partition(), slot.checkpoint_offsets());
        }
        // Write the checkpoints before the run: from the new run number on the manifest no longer
        // counts, and a start after a crash uses the checkpoints.
        drop(checkpoints);
        change.write(disk)?;
        let torn = logs.values().filter(|slot| slot.may_be_torn()).filter_map(|slot| {
            let topic_id = slot.metadata(&self.path).ok()?.topic_id;
            Some(NamedLog { partition: slot.partition().clone(), topic_id })
        });
        let mut run = self.lock_run_file();
        run.torn = torn.collect();
        // A note of a log that is gone would outlive its topic.
        run.lost.retain(|lost| {
            let slot = logs.get(&lost.partition);
            slot.and_then(|slot| slot.metadata(&self.path).ok())
                .is_some_and(|metadata| metadata.topic_id == lost.topic_id)
        });
        run.write(disk, &self.path.join(names::RUN))?;
        let manifest = self.path.join(names::MANIFEST);
        small_file::remove(disk, &manifest)
            .map_err(|source| StorageError::io("remove", &manifest, source))?;
        // Clear the note last: until the new run number is durable, only the note keeps the
        // manifest from being used.
        self.failed_syncs.clear(disk)
    }

    /// Opens all logs that need recovery, several at a time, and returns their number. A log that
    /// cannot be read stays closed until the next start: this run cannot retry, because the next
    /// start has to know in which boot the last records were written.
    fn recover(&self) -> Result<usize, StorageError> {
        let slots: Vec<_> = self.lock_logs().values().cloned().collect();
        let slots: Vec<_> = slots.into_iter().filter(|slot| slot.needs_recovery()).collect();
        let open = |slot: &Arc<Slot>| {
            match slot.open(&self.env, &self.path, &self.options.configs) {
                // Nothing is left of this log. Leave it closed: another broker may have its
                // records, so the caller decides.
                Err(StorageError::Corrupt { .. }) => Ok(()),
                // After a failed sync, or without space or memory, no log can be recovered.
                Err(error @ (StorageError::Io { .. } | StorageError::Damaged { .. }))
                    if error.keeps_log_closed() =>
                {
                    slot.close_unrecovered(&WithCauses(&error).to_string());
                    Ok(())
                }
                opened => opened.map(drop),
            }
        };
        self.for_each(&slots, open)?;
        Ok(slots.len())
    }

    /// The logs that could not be recovered, with the reasons.
    fn closed_logs(&self) -> Vec<(TopicPartition, Arc<str>)> {
        let logs = self.lock_logs();
        let closed = |slot: &Arc<Slot>| Some((slot.partition().clone(), slot.closed_because()?));
        logs.values().filter_map(closed).collect()
    }

    /// Calls `act` for each log, several at a time, until it fails.
    pub(super) fn for_each(
        &self,
        slots: &[Arc<Slot>],
        act: impl Fn(&Arc<Slot>) -> Result<(), StorageError> + Sync,
    ) -> Result<(), StorageError> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let work = || {
            while let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = act(slot) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    next.store(slots.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            let more = self.options.recovery_threads.min(slots.len()).saturating_sub(1);
            for _ in 0..more {
                scope.spawn(work);
            }
            work();
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), Err)
    }
}

impl LastRun {
    fn read(disk: &dyn Disk, path: &Path) -> Result<(Self, Vec<&'static str>), StorageError> {
        let (mut checkpoints, mut rebuilt) = Checkpoints::read(disk, path)?;
        let (run, torn, lost) = match RunFile::read(disk, &path.join(names::RUN))? {
            Stored::Sound(RunFile { run, torn, lost }) => (Some(run), torn, lost),
            Stored::Absent => (None, Vec::new(), Vec::new()),
            Stored::Damaged(_) => {
                rebuilt.push(names::RUN);
                (None, Vec::new(), Vec::new())
            }
        };
        let manifest = match Manifest::read(disk, &path.join(names::MANIFEST))? {
            Stored::Sound(manifest) => Some(manifest),
            Stored::Absent => None,
            Stored::Damaged(_) => {
                rebuilt.push(names::MANIFEST);
                None
            }
        };
        let had_failed_sync = FailedSyncs::were_noted(disk, path)?;
        let is_of_run = |manifest: &Manifest| Some(&manifest.run) == run.as_ref();
        let manifest = manifest.filter(|manifest| is_of_run(manifest) && !had_failed_sync);
        for log in manifest.iter().flat_map(|manifest| &manifest.logs) {
            if let Some(offset) = log.high_watermark {
                checkpoints.raise_high_watermark(&log.partition, offset);
            }
        }
        Ok((Self { run, torn, lost, manifest, had_failed_sync, checkpoints }, rebuilt))
    }

    /// The run that this start begins. `now` is `None` only for a new directory.
    fn next(&self, boot_id: &str, now: Option<Timestamp>) -> Run {
        match (&self.run, now) {
            (Some(run), _) => run.next(boot_id),
            (None, None) => Run::first(boot_id),
            (None, Some(now)) => Run::after_lost(boot_id, now),
        }
    }

    /// The logs with records that the last run had when it stopped in order, and that are gone.
    fn missing<'a>(
        &'a self,
        logs: &'a BTreeMap<TopicPartition, Arc<Slot>>,
    ) -> impl Iterator<Item = &'a StoppedLog> {
        let stopped = self.manifest.iter().flat_map(|manifest| &manifest.logs);
        stopped.filter(|log| log.log_end > Offset::ZERO && !logs.contains_key(&log.partition))
    }

    /// Records the offsets of the missing logs, so that the next start knows them too.
    fn record_missing(&mut self, logs: &BTreeMap<TopicPartition, Arc<Slot>>) {
        let missing: Vec<StoppedLog> = self.missing(logs).cloned().collect();
        for StoppedLog { partition, log_start, log_end, .. } in missing {
            let (durable, rebuild) = (log_end, log_end);
            self.checkpoints.set(&partition, CheckpointOffsets { log_start, durable, rebuild });
        }
    }

    /// The logs that are gone and had records when the last run ended without a stop.
    fn gone<'a>(
        &'a self,
        logs: &'a BTreeMap<TopicPartition, Arc<Slot>>,
    ) -> impl Iterator<Item = &'a TopicPartition> {
        let recorded = self.manifest.is_none().then(|| self.checkpoints.with_records());
        recorded.into_iter().flatten().filter(|log| !logs.contains_key(log))
    }

    /// The part of the report that concerns logs.
    fn report(&self, logs: &BTreeMap<TopicPartition, Arc<Slot>>) -> StartReport {
        let unusable = logs.values().filter(|slot| !slot.is_known());
        let missing = self.missing(logs);
        StartReport {
            was_clean: self.manifest.is_some(),
            had_failed_sync: self.had_failed_sync,
            unusable: unusable.map(|slot| slot.partition().clone()).collect(),
            missing: missing.map(|log| (log.partition.clone(), log.topic_id)).collect(),
            gone: self.gone(logs).cloned().collect(),
            ..StartReport::default()
        }
    }

    /// The state from which a log of the directory is opened.
    fn start_point(
        &self,
        partition: &TopicPartition,
        metadata: &Result<PartitionMetadata, String>,
        boot_id: &str,
    ) -> StartPoint {
        let topic_id = metadata.as_ref().ok().map(|metadata| metadata.topic_id);
        let stopped = self.manifest.iter().flat_map(|manifest| &manifest.logs);
        let mut stopped =
            stopped.filter(|log| log.partition == *partition && Some(log.topic_id) == topic_id);
        if let Some(log) = stopped.next() {
            return StartPoint::Clean { log_start: log.log_start, log_end: log.log_end };
        }
        let marks = self.checkpoints.of(partition);
        let mut torn = self.torn.iter();
        let is_torn = torn.any(|log| topic_id.is_some_and(|id| log.is(partition, id)));
        StartPoint::Unclean {
            log_start: marks.log_start,
            durable: marks.durable,
            rebuild: marks.rebuild,
            // Without a known boot, assume the same one: then damage is never mistaken for a torn
            // tail. A failed sync may lose any written bytes, as a power failure may.
            same_boot: !self.had_failed_sync
                && !is_torn
                && self.run.as_ref().is_none_or(|run| run.boot_id == boot_id),
        }
    }
}

/// The start points of the logs of a data directory; `None` if the files that hold them are lost.
///
/// # Errors
/// Those of the disk; or if a later release has written the directory.
pub(crate) fn start_points(
    disk: &dyn Disk,
    dir: &Path,
) -> Result<Option<impl Fn(&TopicPartition, &PartitionOwner) -> StartPoint + use<>>, StorageError> {
    let boot_id = disk.boot_id().map_err(|source| StorageError::io("look at", dir, source))?;
    let (last_run, rebuilt) = LastRun::read(disk, dir)?;
    // Unless the checkpoint is damaged, a log that is not in it has no record known to be durable.
    let is_told = last_run.manifest.is_some()
        || (last_run.run.is_some() || durable_points(disk, dir)?.is_some())
            && !rebuilt.contains(&names::DURABLE_POINTS);
    let start = move |partition: &TopicPartition, owner: &PartitionOwner| {
        last_run.start_point(partition, owner, &boot_id)
    };
    Ok(is_told.then_some(start))
}

/// The logs of a data directory that are gone, with the offsets of their records; empty while the
/// files of deleted logs remain, since the checkpoint may have offsets of these logs.
///
/// # Errors
/// Those of the disk; or if a later release has written the directory.
pub(crate) fn gone_logs(
    disk: &dyn Disk,
    dir: &Path,
) -> Result<Vec<(PathBuf, Range<Offset>)>, StorageError> {
    let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
    let (mut logs, mut has_deleted) = (BTreeSet::new(), false);
    for entry in &entries {
        match names::meaning(&entry.name, entry.is_dir) {
            Meaning::Log(partition) => drop(logs.insert(partition)),
            Meaning::Deleted => has_deleted = true,
            _ => {}
        }
    }
    let (last_run, _) = LastRun::read(disk, dir)?;
    let bounds: Vec<_> = match &last_run.manifest {
        Some(manifest) => {
            let bounds = |log: &StoppedLog| (log.partition.clone(), log.log_start..log.log_end);
            manifest.logs.iter().map(bounds).filter(|(_, bounds)| !bounds.is_empty()).collect()
        }
        None if has_deleted => Vec::new(),
        None => {
            let recorded = last_run.checkpoints.with_records().map(|partition| {
                let marks = last_run.checkpoints.of(partition);
                (partition.clone(), marks.log_start..marks.durable)
            });
            recorded.collect()
        }
    };
    let gone = bounds.into_iter().filter(|(partition, _)| !logs.contains(partition));
    Ok(gone.map(|(partition, bounds)| (names::log_path(dir, &partition), bounds)).collect())
}

/// The metadata of a partition's directory, or the reason for which it is not known.
pub(crate) type PartitionOwner = Result<PartitionMetadata, String>;

/// Locks a data directory for work on its files while no broker uses it, and returns its owner;
/// `None` if the file that names the owner is lost or damaged.
///
/// # Errors
/// `Locked` if a broker uses it, `Foreign` if it is not a data directory.
pub fn lock_data_dir(
    disk: &dyn Disk,
    path: &Path,
) -> Result<(DirLock, Option<Identity>), StorageError> {
    let identity = match Identity::read(disk, &path.join(names::IDENTITY)) {
        Err(StorageError::Damaged { .. }) => None,
        read => read?,
    };
    if identity.is_none() && !has_metadata(disk, path)? {
        return Err(StorageError::Foreign {
            path: path.to_owned(),
            expected: "streamlog".to_owned(),
            found: format!("others: it has no sound '{}'", names::IDENTITY),
        });
    }
    let boot_id = disk.boot_id().map_err(|source| StorageError::io("lock", path, source))?;
    Ok((take_lock(disk, path, &boot_id)?, identity))
}

/// Creates the identity of a locked data directory again, with a new directory id; durable on
/// return. A damaged file is moved to `quarantine/`.
///
/// # Errors
/// Those of the disk.
pub fn restore_identity(
    disk: &dyn Disk,
    path: &Path,
    owner: &Opener,
) -> Result<Identity, StorageError> {
    let file = path.join(names::IDENTITY);
    if disk.exists(&file).map_err(|source| StorageError::io("look for", &file, source))? {
        quarantine(disk, path, names::IDENTITY)?;
    }
    Identity::create(disk, &file, owner)
}

/// The disk that logs errors and notes failed syncs. It wraps the cache of open files `files`, so
/// that a call that succeeds once the cache has freed a descriptor is not reported as failed.
fn reporting_disk(
    files: &OpenFiles,
    clock: &Arc<dyn Clock>,
    failed_syncs: &Arc<FailedSyncs>,
) -> Arc<dyn Disk> {
    let failed_syncs = Arc::clone(failed_syncs);
    let note = Box::new(move || failed_syncs.note());
    Arc::new(ReportingDisk::new(Arc::new(files.clone()), Arc::clone(clock), note))
}

/// Takes the lock on a directory, creating the directory if absent.
fn take_lock(disk: &dyn Disk, path: &Path, boot_id: &str) -> Result<DirLock, StorageError> {
    let refused = |action| move |source| StorageError::io(action, path, source);
    if !disk.exists(path).map_err(refused("look for"))? {
        create_dir_durably(disk, path).map_err(refused("create"))?;
    }
    let owner = format!("process {} of boot {boot_id}", std::process::id());
    disk.lock(path, &path.join(names::LOCK), &owner).map_err(|source| match source.kind() {
        ErrorKind::WouldBlock => {
            StorageError::Locked { path: path.to_owned(), owner: source.to_string() }
        }
        _ => StorageError::io("lock", path, source),
    })
}

/// Opens the reserve left by an earlier run.
fn open_reserve(disk: &Arc<dyn Disk>, path: &Path) -> Result<Arc<Reserve>, StorageError> {
    let dir = path.join(names::RESERVE);
    let reserve = Reserve::open(disk, &dir);
    reserve.map(Arc::new).map_err(|source| StorageError::io("open", &dir, source))
}

/// The directory's identity, checked against the opener, or created if the directory is empty.
fn admit(disk: &dyn Disk, path: &Path, options: &DataDirOptions) -> Result<Identity, StorageError> {
    let file = path.join(names::IDENTITY);
    let has_journal = has_metadata(disk, path)?;
    let remedy = if has_journal {
        "'streamlog log rebuild-metadata' makes it again from the metadata journal"
    } else {
        "take it from a backup, or write it again with the lines streamlog.format=1, cluster.id=, \
         broker.id=, directory.id=, metadata=zookeeper and registration.tokens=; the nodes \
         /cluster/id and /streamlog/brokers/ID of ZooKeeper have the ids and the token"
    };
    let damaged = |reason: &str| StorageError::Damaged {
        path: file.clone(),
        reason: format!("{reason}; {remedy}"),
    };
    let identity = match Identity::read(disk, &file) {
        Err(StorageError::Damaged { reason, .. }) => return Err(damaged(&reason)),
        read => read?,
    };
    if let Some(identity) = identity {
        identity.admit(path, &options.opener)?;
        return Ok(identity);
    }
    if has_journal {
        return Err(damaged("it is missing"));
    }
    require_empty(disk, path)?;
    Identity::create(disk, &file, &options.opener)
}
