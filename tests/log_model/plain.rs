//! The plain list that serves as the model of the log.

use streamlog::types::ProducerId;

/// A batch as it is in the log, and the timestamps of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) base: i64,
    pub(crate) next: i64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) times: Vec<i64>,
    pub(crate) sequence: Option<(ProducerId, i32)>,
}

impl Stored {
    /// The offset after its last record. If offsets count bytes, the next batch may begin later.
    pub(crate) fn records_end(&self) -> i64 {
        self.base + i64::try_from(self.times.len()).unwrap()
    }
}

/// The expected state of the log.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) batches: Vec<Stored>,
    pub(crate) log_start: i64,
    pub(crate) flushed: i64,
    /// Batches that a crash may bring back although the log does not have them: their append
    /// failed, or a truncation was interrupted.
    pub(crate) ghosts: Vec<Stored>,
    /// (epoch, start) of every epoch that has records.
    pub(crate) epochs: Vec<(i32, i64)>,
}

impl Model {
    pub(crate) fn end(&self) -> i64 {
        self.batches.last().map_or(self.log_start, |batch| batch.next)
    }

    pub(crate) fn readable(&self) -> impl Iterator<Item = &Stored> {
        self.batches.iter().filter(|batch| batch.records_end() > self.log_start)
    }

    pub(crate) fn cut(&mut self, end: i64) {
        self.batches.retain(|batch| batch.next <= end);
        self.flushed = self.flushed.min(end);
        self.epochs.retain(|(_, start)| *start < end);
    }

    /// The sequence that follows the producer's last batch.
    pub(crate) fn next_sequence(&self, producer: ProducerId) -> i32 {
        let last = self.batches.iter().rev().find_map(|batch| {
            let (id, sequence) = batch.sequence?;
            (id == producer).then(|| sequence + i32::try_from(batch.times.len()).unwrap())
        });
        last.unwrap_or(0)
    }
}
