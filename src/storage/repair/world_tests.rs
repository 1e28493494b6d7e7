//! A damaged log and the batches of its leader, for the tests of repairs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::{Clock, Disk, OpenFiles, Share};
use crate::record::{Batch, Batches};
use crate::storage::world_tests::{
    NOW, World, append_at, at, batch, crashed_rebuilding, file, try_values, values,
};
use crate::storage::{
    CheckpointOffsets, ColdReads, Damage, Log, LogEnv, ProducerLimits, Repair, StartPoint,
    StorageError, verify,
};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

pub(super) const DIR: &str = "/data/t-0";
pub(super) const LETTERS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// The size of a batch of one letter.
pub(super) fn size() -> u64 {
    batch(&["a"]).len() as u64
}

pub(super) fn offset(number: i64) -> Offset {
    Offset::new(number)
}

/// A log that was closed, and its batches before they were damaged: those of its leader.
pub(super) struct Follower {
    pub(super) world: World,
    pub(super) marks: CheckpointOffsets,
    /// The bytes of the segments by base offset.
    pub(super) led: BTreeMap<i64, Vec<u8>>,
}

impl Follower {
    /// The batches a to j in segments of three.
    pub(super) fn of_letters() -> Self {
        Self::in_segments_of(3)
    }

    /// The batches a to j in the segment that the log appends to.
    pub(super) fn of_one_segment() -> Self {
        Self::in_segments_of(100)
    }

    fn in_segments_of(batches: u64) -> Self {
        let mut world = World::with_segments_of(size() * batches);
        world.config.index_interval = ByteSize(1);
        let log = world.start();
        for letter in LETTERS {
            append_at(&log, &[letter], at()).unwrap();
        }
        Self::of(world, &log)
    }

    pub(super) fn of(world: World, log: &Log) -> Self {
        let marks = log.close().unwrap();
        let led = world.segments().into_iter().map(|base| (base, world.bytes(&file(base, "log"))));
        let led = led.collect();
        Self { world, marks, led }
    }

    /// The starts after a clean stop, after the end of the process, and after a power failure.
    pub(super) fn starts(&self) -> [StartPoint; 4] {
        let CheckpointOffsets { log_start, durable, rebuild } = self.marks;
        [
            StartPoint::Clean { log_start, log_end: durable },
            StartPoint::Unclean { log_start, durable, rebuild, same_boot: true },
            StartPoint::Unclean { log_start, durable, rebuild, same_boot: false },
            crashed_rebuilding(self.marks, false),
        ]
    }

    pub(super) fn open(&self) -> Arc<Log> {
        Arc::new(self.world.open(crashed_rebuilding(self.marks, false)))
    }

    /// Flips a bit of a batch: of its records, or at another position.
    pub(super) fn rot(&self, base: i64, number: u64) {
        self.rot_at(base, number * size() + 65);
    }

    pub(super) fn rot_all(&self, base: i64, numbers: &[u64]) {
        for number in numbers {
            self.rot(base, *number);
        }
    }

    pub(super) fn rot_at(&self, base: i64, position: u64) {
        self.world.disk.flip_bit(&file(base, "log"), position, 2).unwrap();
    }

    pub(super) fn lose(&self, base: i64) {
        self.world.disk.remove_file(&file(base, "log")).unwrap();
        self.world.disk.sync_dir(Path::new(DIR)).unwrap();
    }

    /// Some batches of the leader: that of an offset, or the first after it, and those that follow.
    pub(super) fn fetch(&self, from: Offset, count: usize) -> Vec<u8> {
        let batches = self.led.values().flat_map(|bytes| Batches::new(bytes).map(Result::unwrap));
        let wanted = batches.skip_while(|batch: &Batch<'_>| batch.last_offset() < from);
        wanted.take(count).flat_map(|batch| batch.bytes().to_vec()).collect()
    }

    /// Repairs a segment from the leader, with this number of batches in each answer.
    pub(super) fn repair(&self, log: &Arc<Log>, base: i64, count: usize) -> bool {
        let mut repair = Repair::begin(log, offset(base)).unwrap().unwrap();
        self.fill(&mut repair, count);
        repair.finish(None).unwrap()
    }

    pub(super) fn fill(&self, repair: &mut Repair, count: usize) {
        while let Some(wanted) = repair.wants().unwrap() {
            repair.take(&self.fetch(wanted.start, count)).unwrap();
        }
    }

    /// Checks that a log of letters is whole, now and after each kind of start.
    pub(super) fn check_letters(&self, log: &Arc<Log>) {
        check_letters(log);
        assert_eq!(Repair::needed(log).unwrap(), []);
        for start in self.starts() {
            let log = self.world.open(start);
            assert_eq!(log.checks().damages(), [], "{start:?}");
            check_letters(&log);
        }
        self.check_files();
    }

    /// Checks that no damage is recorded, no file is left over, and all files are sound.
    pub(super) fn check_files(&self) {
        assert_eq!(Damage::load(&self.world.disk, Path::new(DIR)).unwrap(), []);
        let names = self.world.names(DIR);
        let is_left = |name: &&String| name.contains(".cleaned") || name.contains(".swap");
        assert_eq!(names.iter().find(is_left), None);
        let disk: Arc<dyn Disk> = Arc::new(self.world.disk.clone());
        for report in verify(&disk, Path::new(DIR)).unwrap() {
            let flaws = report.findings.iter().map(ToString::to_string);
            let flaws: Vec<_> = flaws.filter(|flaw| !flaw.contains("partition.metadata")).collect();
            assert_eq!(flaws, [] as [String; 0]);
        }
    }
}

fn check_letters(log: &Log) {
    let expected: Vec<_> = (0..).zip(LETTERS.map(str::to_owned)).collect();
    assert_eq!(values(log, 0, 10), expected);
    for (from, _) in expected {
        assert_eq!(try_values(log, from, 10).unwrap().first().map(|first| first.0), Some(from));
    }
    let found = log.lookups().offset_for_timestamp(NOW).unwrap().unwrap();
    assert_eq!(found.offset, Offset::ZERO);
    let late = Timestamp::from_millis(NOW.millis() + 1);
    assert_eq!(log.lookups().offset_for_timestamp(late).unwrap(), None);
    let size: u64 = log.segments().iter().map(|segment| segment.size().unwrap()).sum();
    assert_eq!(size, size_of_letters());
}

fn size_of_letters() -> u64 {
    size() * LETTERS.len() as u64
}

/// Opens the log of a world on another disk.
pub(super) fn open_on(
    disk: Arc<dyn Disk>,
    world: &World,
    start: StartPoint,
) -> Result<Arc<Log>, StorageError> {
    let env = LogEnv {
        files: OpenFiles::new(Arc::clone(&disk), Share::Fixed(2)),
        disk,
        cold_reads: ColdReads::default(),
        reserve: None,
        clock: Arc::clone(&world.clock) as Arc<dyn Clock>,
        producers: ProducerLimits::default(),
    };
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
    let config = Arc::new(world.config.clone());
    Log::open(&env, PathBuf::from(DIR), partition, config, start).map(Arc::new)
}
