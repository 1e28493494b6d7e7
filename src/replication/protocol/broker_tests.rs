//! A broker with its replica of a partition: the real state machines, on a log in memory.

use super::{Follower, Leader, Rules};
use crate::io::SeededRandom;
use crate::metadata::{Caching, Incarnation};
use crate::replication::cluster_tests::BROKERS;
use crate::storage::EpochStart;
use crate::types::{LeaderEpoch, Offset};

/// A record; no two records are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) epoch: LeaderEpoch,
    pub(super) number: u32,
}

/// A log and its disk.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryLog {
    pub(super) records: Vec<Record>,
    /// The number of flushed records.
    pub(super) flushed: usize,
    /// The end that a flush under way will reach.
    pub(super) flushing: Option<usize>,
}

/// The role of a broker in the partition.
#[derive(Debug)]
pub(super) enum Role {
    None,
    Leader(Box<Leader>),
    Follower(Follower),
}

/// A record of a producer that has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Produced {
    pub(super) offset: usize,
    pub(super) record: Record,
}

/// A broker with its replica of the partition.
#[derive(Debug)]
pub(super) struct Broker {
    pub(super) is_running: bool,
    /// The incarnation of the last session that the broker opened.
    pub(super) incarnation: Incarnation,
    /// The id of its disk.
    pub(super) directory: u32,
    pub(super) log: MemoryLog,
    pub(super) high_watermark: Offset,
    pub(super) role: Role,
    /// The leader epoch of its role.
    pub(super) epoch: LeaderEpoch,
    pub(super) produced: Vec<Produced>,
    /// The registrations as it last read them.
    pub(super) registered: [Option<Incarnation>; BROKERS],
}

impl MemoryLog {
    pub(super) fn end(&self) -> Offset {
        offset(self.records.len())
    }

    /// The offset below which the log counts as stored.
    pub(super) fn stored(&self, rules: Rules) -> Offset {
        if rules.counts_unflushed(Caching::Off) { self.end() } else { offset(self.flushed) }
    }

    pub(super) fn epochs(&self) -> Vec<EpochStart> {
        let mut entries: Vec<EpochStart> = Vec::new();
        for (index, record) in self.records.iter().enumerate() {
            if entries.last().is_none_or(|last| last.epoch != record.epoch) {
                entries.push(EpochStart { epoch: record.epoch, start: offset(index) });
            }
        }
        entries
    }

    pub(super) fn truncate(&mut self, end: Offset) {
        self.records.truncate(index(end));
        self.flushed = self.flushed.min(self.records.len());
        // A flush under way may have covered records that are gone, so forget its end.
        self.flushing = None;
    }

    pub(super) fn holds(&self, shown: &[Record]) -> bool {
        self.flushed >= shown.len() && self.records.starts_with(shown)
    }
}

impl Broker {
    pub(super) fn note_watermark(&mut self) {
        self.high_watermark = match &self.role {
            Role::None => self.high_watermark,
            Role::Leader(leader) => leader.high_watermark(),
            Role::Follower(follower) => follower.high_watermark(),
        };
    }

    /// Ends the broker. Its log keeps a random part of the unflushed records.
    pub(super) fn lose_power(&mut self, random: &mut SeededRandom) {
        let flushed = self.log.flushed;
        let end = flushed + random.index(self.log.records.len() - flushed + 1);
        self.log.truncate(offset(end));
        self.log.flushed = end;
        self.high_watermark = self.high_watermark.min(offset(end));
        self.stop();
    }

    /// Ends the broker, and gives it another, empty disk.
    pub(super) fn empty_disk(&mut self) {
        self.directory += 10;
        self.log = MemoryLog::default();
        self.high_watermark = Offset::ZERO;
        self.stop();
    }

    fn stop(&mut self) {
        self.is_running = false;
        self.role = Role::None;
        self.epoch = LeaderEpoch::NONE;
        self.produced.clear();
    }
}

pub(super) fn offset(index: usize) -> Offset {
    Offset::new(i64::try_from(index).unwrap())
}

pub(super) fn index(offset: Offset) -> usize {
    usize::try_from(offset.get()).unwrap()
}
