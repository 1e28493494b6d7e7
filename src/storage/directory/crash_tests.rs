//! A data directory with a kill of the process, or a power failure, at every single step.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::directory_tests::{DATA, World, append, partition, topic, watermark};
use crate::io::faulty::FaultyDisk;
use crate::io::{
    DirLock, Disk, Entry, File, FileWrapper, Inode, MemoryDisk, OpenMode, read_exact_at,
};
use crate::record::Batches;
use crate::storage::{
    Checkpoint, DataDir, Flaw, HighWatermarks, Log, Offsets, ReadLimit, StorageError, Stored,
    verify, verify_small_files,
};
use crate::types::{Offset, TopicId};

/// A disk that accepts a number of changes and none after them, as if the process had ended.
#[derive(Clone, Debug)]
pub(crate) struct StoppingDisk {
    disk: FaultyDisk,
    left: Arc<AtomicI64>,
}

#[derive(Debug)]
struct StoppingFile {
    file: Arc<dyn File>,
    left: Arc<AtomicI64>,
}

fn step(left: &AtomicI64) -> io::Result<()> {
    if left.fetch_sub(1, Ordering::AcqRel) > 0 { Ok(()) } else { Err(io::Error::other("stopped")) }
}

impl StoppingDisk {
    pub(crate) fn new(disk: &FaultyDisk, steps: i64) -> Self {
        Self { disk: disk.clone(), left: Arc::new(AtomicI64::new(steps)) }
    }

    /// Stops after so many further steps.
    fn stop_after(&self, steps: i64) {
        self.left.store(steps, Ordering::Release);
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.left.load(Ordering::Acquire) < 0
    }
}

impl Disk for StoppingDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if matches!(mode, OpenMode::Create | OpenMode::CreateNew) {
            step(&self.left)?;
        }
        let file = self.disk.open(path, mode)?;
        Ok(Arc::new(StoppingFile { file, left: Arc::clone(&self.left) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.create_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.remove_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.sync_dir(dir)
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        step(&self.left)?;
        self.disk.sync_filesystem(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk.free_bytes(path)
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        self.disk.total_bytes(path)
    }

    fn boot_id(&self) -> io::Result<String> {
        self.disk.boot_id()
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.disk.inode(path)
    }

    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        self.disk.has_mounts(path)
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        step(&self.left)?;
        self.disk.lock(dir, note, owner)
    }
}

impl FileWrapper for StoppingFile {
    fn wrapped(&self) -> &dyn File {
        &*self.file
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        step(&self.left)?;
        self.file.write_at(buffers, position)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        step(&self.left)?;
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        step(&self.left)?;
        self.file.allocate(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        step(&self.left)?;
        self.file.sync_data()
    }
}

/// The facts that must hold for the directory, whatever happened.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// The topic and the number of records known to be durable, by partition.
    logs: BTreeMap<i32, (TopicId, i64)>,
    /// The partition that was being created, removed or truncated when everything stopped.
    in_doubt: Option<i32>,
    high_watermark: i64,
    /// True if the last run was shut down cleanly; `None` in the middle of a stop or start.
    is_closed: Option<bool>,
}

/// The operations on a directory, recorded in `facts` as they complete.
fn live(world: &World, facts: &mut Facts) -> Result<(), StorageError> {
    facts.is_closed = None;
    let directory = world.open()?;
    facts.is_closed = Some(false);
    let web = grow(&directory, facts, (0, 1), 5)?;
    grow(&directory, facts, (1, 1), 3)?;
    directory.checkpoint(&watermark(4))?;
    facts.high_watermark = 4;
    grow(&directory, facts, (1, 1), 2)?;

    facts.in_doubt = Some(1);
    facts.logs.remove(&1);
    directory.remove_log(&partition(1), topic(1).topic_id)?;
    facts.in_doubt = None;
    world.clock.advance(std::time::Duration::from_hours(1));
    directory.remove_deleted()?;
    grow(&directory, facts, (1, 2), 1)?;

    facts.in_doubt = Some(0);
    facts.logs.insert(0, (topic(1).topic_id, 4));
    directory.truncate_log(&web, Offset::new(4))?;
    facts.in_doubt = None;
    grow(&directory, facts, (0, 1), 2)?;
    directory.checkpoint(&HighWatermarks::new())?;
    facts.is_closed = None;
    directory.close(&watermark(4))?;
    facts.is_closed = Some(true);
    drop((directory, web));

    facts.is_closed = None;
    let directory = world.open()?;
    facts.is_closed = Some(false);
    grow(&directory, facts, (0, 1), 1)?;
    facts.in_doubt = Some(1);
    facts.logs.remove(&1);
    directory.remove_log(&partition(1), topic(2).topic_id)?;
    facts.in_doubt = None;
    facts.is_closed = None;
    directory.close(&HighWatermarks::new())?;
    facts.is_closed = Some(true);
    Ok(())
}

/// Appends records to a log, created if absent, and flushes them.
fn grow(
    directory: &DataDir,
    facts: &mut Facts,
    (index, number): (i32, u8),
    count: i64,
) -> Result<Arc<Log>, StorageError> {
    let known = facts.logs.remove(&index);
    facts.in_doubt = Some(index).filter(|_| known.is_none());
    facts.logs.extend(known.map(|known| (index, known)));
    let log = directory.create_log(&partition(index), topic(number))?;
    facts.in_doubt = None;
    let (topic_id, durable) = known.unwrap_or((topic(number).topic_id, 0));
    facts.logs.insert(index, (topic_id, durable));
    append(&log, count)?;
    let flushed = log.flush()?.get();
    assert_eq!(flushed, durable + count);
    facts.logs.insert(index, (topic_id, flushed));
    Ok(log)
}

/// Prints the step at which a check failed.
struct Moment(String);

impl Drop for Moment {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0);
        }
    }
}

/// Checks that `log verify` finds no damage after a crash, before recovery.
pub(super) fn raises_no_alarm(disk: &Arc<dyn Disk>) {
    let data = Path::new(DATA);
    if !disk.exists(&data.join("meta.properties")).unwrap() {
        return;
    }
    for report in verify(disk, data).unwrap() {
        let damage: Vec<_> = report.findings.iter().filter(|f| f.is_damage()).collect();
        assert!(damage.is_empty(), "{}: {damage:?}", report.dir.display());
    }
    assert!(verify_small_files(&**disk, data).unwrap().is_empty());
}

/// Opens the directory and checks it against the facts.
fn check(disk: &Arc<dyn Disk>, boot_id: &str, facts: &Facts) {
    raises_no_alarm(disk);
    let mut world = World::on(Arc::clone(disk));
    boot_id.clone_into(&mut world.boot_id);
    let directory = world.open().unwrap();
    let report = directory.start_report();
    assert!(facts.is_closed.is_none_or(|is_closed| is_closed == report.was_clean));
    assert!(report.quarantined.is_empty() && report.unusable.is_empty(), "{report:?}");
    assert!(report.rebuilt.is_empty() && report.missing.is_empty(), "{report:?}");

    let found: BTreeMap<_, _> = directory.partitions().into_iter().collect();
    for (index, (topic_id, durable)) in &facts.logs {
        let metadata = found.get(&partition(*index)).expect("the log is gone");
        assert_eq!(metadata.topic_id, *topic_id);
        let log = directory.log(&partition(*index)).unwrap().unwrap();
        assert!(log.log_end_offset() >= Offset::new(*durable), "{log:?}, {durable} durable");
        assert!(log.checks().damages().is_empty(), "{log:?} {:?}", log.checks().damages());
        assert_eq!(records(&log), log.log_end_offset().get());
    }
    for partition in found.keys() {
        let index = partition.partition.0;
        let is_expected = facts.logs.contains_key(&index) || facts.in_doubt == Some(index);
        assert!(is_expected, "{partition} came back");
        assert!(append(&directory.log(partition).unwrap().unwrap(), 1).is_ok());
    }
    if found.contains_key(&partition(0)) {
        let recorded = directory.high_watermark(&partition(0)).map_or(0, Offset::get);
        assert!(recorded >= facts.high_watermark, "the high watermark fell to {recorded}");
    }
    directory.close(&HighWatermarks::new()).unwrap();
    drop(directory);
    for report in verify(disk, Path::new(DATA)).unwrap() {
        let torn = |flaw: &Flaw| matches!(flaw, Flaw::TornTail(_));
        let wrong: Vec<_> = report.findings.iter().filter(|f| !torn(&f.flaw)).collect();
        assert!(wrong.is_empty(), "{:?}: {wrong:?}", report.dir);
    }
    assert!(world.open().unwrap().start_report().was_clean);
}

/// Reads a log from its start and counts its records, which must follow one another.
pub(super) fn records(log: &Log) -> i64 {
    let limit = ReadLimit {
        max_bytes: 1 << 20,
        below: log.log_end_offset(),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let mut next = Offset::ZERO;
    while let Some(range) = log.read(next, limit).unwrap() {
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.check_checksum().unwrap();
            assert_eq!(batch.base_offset(), next);
            next = batch.next_offset();
        }
    }
    next.get()
}

fn shared(disk: &FaultyDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Runs the operations up to each step in turn and calls `end` with the disk as it was left, until
/// they all complete.
fn at_every_step(mut end: impl FnMut(&FaultyDisk, &Facts)) {
    for steps in 0.. {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let stopping = StoppingDisk::new(&disk, steps);
        let mut facts = Facts::default();
        let done = live(&World::on(Arc::new(stopping.clone())), &mut facts);
        assert_eq!(done.is_err(), stopping.has_stopped(), "{done:?}");
        let moment = Moment(format!("stopped after {steps} steps: {facts:?}"));
        end(&disk, &facts);
        drop(moment);
        if done.is_ok() {
            assert!(steps > 100, "the life has only {steps} steps");
            return;
        }
    }
}

#[test]
fn a_process_killed_at_any_step_loses_nothing_durable() {
    at_every_step(|disk, facts| check(&shared(disk), "boot-1", facts));
}

#[test]
fn power_that_fails_at_any_step_takes_nothing_durable() {
    at_every_step(|disk, facts| {
        let after = disk.crash(17).unwrap();
        check(&shared(&after), "boot-2", facts);
    });
}

#[test]
fn power_that_fails_again_during_the_recovery_takes_nothing_durable() {
    let mut seed = 0;
    at_every_step(|disk, facts| {
        seed += 1;
        let after = disk.crash(seed).unwrap();
        let steps = i64::try_from(seed % 30).unwrap();
        let mut world = World::on(Arc::new(StoppingDisk::new(&after, steps)));
        "boot-2".clone_into(&mut world.boot_id);
        // This opening may succeed or fail; only the state that the next one finds matters.
        drop(world.open());
        let facts = Facts { is_closed: None, ..facts.clone() };
        check(&shared(&after.crash(seed).unwrap()), "boot-3", &facts);
    });
}

#[test]
fn a_checkpoint_interrupted_at_any_step_is_the_old_or_the_new() {
    let offsets = |offset| Offsets::from([(partition(0), Offset::new(offset))]);
    for (steps, seed) in (0..8).flat_map(|steps| (0..20).map(move |seed| (steps, seed))) {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let checkpoint = Checkpoint::new(Path::new("/"), "durable-point-checkpoint");
        checkpoint.write(&disk, &offsets(1)).unwrap();
        let written = checkpoint.write(&StoppingDisk::new(&disk, steps), &offsets(2));
        let read = checkpoint.read(&disk.crash(seed).unwrap()).unwrap();
        let is_new = read == Stored::Sound(offsets(2));
        assert!(is_new || (written.is_err() && read == Stored::Sound(offsets(1))), "{read:?}");
    }
}

#[test]
fn tokens_that_are_written_when_power_fails_are_the_old_or_the_new() {
    let tokens = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    for (steps, seed) in (0..8).flat_map(|steps| (0..20).map(move |seed| (steps, seed))) {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let stopping = StoppingDisk::new(&disk, i64::MAX);
        let world = World::on(Arc::new(stopping.clone()));
        let directory = world.open().unwrap();
        directory.replace_tokens(tokens(["A", "B"])).unwrap();
        stopping.stop_after(steps);
        let written = directory.replace_tokens(tokens(["B", "C"]));
        let after = World::on(shared(&disk.crash(seed).unwrap()));
        let read = after.open().unwrap().identity().tokens;
        let is_new = read == tokens(["B", "C"]);
        assert!(is_new || (written.is_err() && read == tokens(["A", "B"])), "{read:?}");
    }
}
