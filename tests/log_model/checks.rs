//! Checks of the invariants of the log, which `mod.rs` numbers from I1 to I8.

use crate::plain::Stored;
use crate::world::{NOW, World};
use streamlog::io::read_exact_at;
use streamlog::record::{Batches, Decompressor, Limits};
use streamlog::storage::{Log, ReadLimit, StorageError};
use streamlog::types::{LeaderEpoch, Offset, Timestamp};

impl World {
    /// Checks I2: the bounds are in order, and as in the model.
    pub(crate) fn check_bounds(&self) {
        let start = self.log.log_start_offset().get();
        let flushed = self.log.flushed_offset().get();
        let end = self.log.log_end_offset().get();
        assert!(start <= flushed && flushed <= end, "{start} {flushed} {end}");
        assert_eq!(
            (start, flushed, end),
            (self.model.log_start, self.model.flushed, self.model.end().max(start))
        );
    }

    /// Checks I1, I3 and I7: reads return the appended batches, however they are split.
    pub(crate) fn check_contents(&mut self) {
        let expected: Vec<&Stored> = self.model.readable().collect();
        let found = contents(&self.log);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.base, &found.bytes), (expected.base, &expected.bytes));
        }
        let (start, end) = (self.model.log_start, self.model.end());
        for _ in 0..3 {
            let span = (end - start).unsigned_abs();
            let from = start + i64::try_from(self.random.below(span + 1)).unwrap();
            let below = from + i64::try_from(self.random.below(span + 1)).unwrap();
            let max_bytes = self.random.below(2_000);
            self.check_read(from, below, (max_bytes, self.random.clone().chance(2)));
        }
    }

    pub(crate) fn check_read(&self, from: i64, below: i64, (max_bytes, at_least_one): (u64, bool)) {
        let below = Offset::new(below);
        let limit =
            ReadLimit { max_bytes, below, at_least_one_batch: at_least_one, keeps_emptied: false };
        let range = self.log.read(Offset::new(from), limit).unwrap();
        let first = self.model.readable().find(|batch| batch.records_end() > from);
        let Some(range) = range else {
            let whole = first.filter(|batch| batch.next <= below.get());
            let fits = whole.is_some_and(|batch| batch.bytes.len() as u64 <= max_bytes);
            assert!(!fits && (whole.is_none() || !at_least_one), "nothing read at {from}");
            return;
        };
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        let mut next = first.unwrap().base;
        for (number, batch) in Batches::new(&bytes).enumerate() {
            let batch = batch.unwrap();
            let known = self.model.batches.iter().find(|known| known.base == next).unwrap();
            assert_eq!(batch.bytes(), known.bytes);
            assert!(known.next <= below.get());
            assert!(range.length <= max_bytes || (at_least_one && number == 0));
            next = known.next;
        }
        let following = self.model.batches.iter().find(|known| known.base == next);
        let room = max_bytes.saturating_sub(range.length);
        let is_short = following
            .is_some_and(|batch| batch.next <= below.get() && batch.bytes.len() as u64 <= room);
        // A read ends at its segment's end, which the model does not know.
        let ends_file = range.position + range.length == range.file.len().unwrap();
        assert!(!is_short || ends_file, "the read from {from} stops at {next}");
    }

    /// Checks I5: lookups by timestamp and epoch agree with a scan of all records.
    pub(crate) fn check_times(&mut self) {
        for _ in 0..5 {
            let ahead = i64::try_from(self.random.below(400)).unwrap() - 50;
            let wanted = NOW + ahead;
            let records = self.model.readable().flat_map(|batch| {
                batch
                    .times
                    .iter()
                    .enumerate()
                    .map(|(index, time)| (batch.base + i64::try_from(index).unwrap(), *time))
            });
            let start = self.model.log_start;
            let expected =
                records.filter(|(offset, _)| *offset >= start).find(|(_, time)| *time >= wanted);
            let found =
                self.log.lookups().offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
            let found = found.map(|record| (record.offset.get(), record.timestamp.millis()));
            assert_eq!(found, expected, "at or after {ahead}");
        }
        let entries = self.log.epochs().entries().unwrap();
        for (index, (epoch, begin)) in self.model.epochs.iter().enumerate() {
            let end = self.model.epochs.get(index + 1).map_or(self.model.end(), |next| next.1);
            if *begin >= self.model.log_start {
                let epoch = LeaderEpoch(*epoch);
                let known = self.log.epochs().end_offset_for(epoch).unwrap();
                assert_eq!(known, Some((epoch, Offset::new(end))), "{entries:?}");
            }
        }
    }
}

/// All batches that can be read, up to the first damage.
pub(crate) fn contents(log: &Log) -> Vec<Stored> {
    let mut found = Vec::new();
    let mut from = log.log_start_offset();
    let below = log.log_end_offset();
    let limit =
        ReadLimit { max_bytes: 1 << 20, below, at_least_one_batch: true, keeps_emptied: false };
    loop {
        let range = match log.read(from, limit) {
            Ok(Some(range)) => range,
            Ok(None) | Err(StorageError::Corrupt { .. }) => return found,
            Err(error) => panic!("reading at {from}: {error}"),
        };
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.check_checksum().unwrap();
            let limits = Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            let records = batch.records(&payload, &limits);
            let times = records.map(|record| batch.timestamp_of(&record.unwrap()).millis());
            found.push(Stored {
                base: batch.base_offset().get(),
                next: batch.next_offset().get(),
                times: times.collect(),
                sequence: batch.producer().map(|stamp| (stamp.id, stamp.base_sequence)),
                bytes: batch.bytes().to_vec(),
            });
            from = batch.next_offset();
        }
    }
}
