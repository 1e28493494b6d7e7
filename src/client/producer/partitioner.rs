//! The choice of a partition for records without one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::io::SeededRandom;

/// An application's partitioner: maps topic, key, value and number of partitions to a partition.
pub type Choice = dyn Fn(&str, Option<&[u8]>, Option<&[u8]>, usize) -> usize + Send + Sync;

/// The partitioning strategy.
#[derive(Clone, Default)]
pub enum Partitioner {
    /// By the key's hash, as in Kafka's Java client; records without a key stay on a partition
    /// until their batch is full, and then move to the next.
    #[default]
    Keyed,
    /// Records stay on a partition until their batch is full, whatever their keys.
    Sticky,
    /// A random partition for each record.
    Random,
    /// One partition after another.
    RoundRobin,
    /// A function's choice, modulo the number of partitions.
    Own(Arc<Choice>),
}

/// The current partition of a topic, for strategies that do not choose by key.
#[derive(Debug)]
pub(crate) struct PartitionCursor {
    next: AtomicU32,
}

/// The parts of a record that a choice may depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) topic: &'a str,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
}

impl PartitionCursor {
    /// Starts at a position derived from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let first = SeededRandom::new(seed).below(1 << 16);
        Self { next: AtomicU32::new(u32::try_from(first).unwrap_or(0)) }
    }

    /// Moves to the next partition, and returns the position before.
    pub(crate) fn advance(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn current(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }
}

impl Partitioner {
    /// Chooses the partition of a record among `count`.
    pub(crate) fn choose(
        &self,
        record: Chosen<'_>,
        cursor: &PartitionCursor,
        count: usize,
    ) -> usize {
        assert!(count > 0, "a topic has at least one partition, not {count}");
        let number = match (self, record.key) {
            (Self::Keyed, Some(key)) => murmur2(key) & i32::MAX.cast_unsigned(),
            (Self::Keyed, None) | (Self::Sticky, _) => cursor.current(),
            (Self::RoundRobin, _) => cursor.advance(),
            (Self::Random, _) => scattered(cursor.advance()),
            (Self::Own(choice), key) => {
                return choice(record.topic, key, record.value, count) % count;
            }
        };
        number as usize % count
    }

    /// Returns true if successive records stay on one partition until their batch is full.
    /// `has_key` says if the records have keys, which [`Keyed`](Self::Keyed) distributes by their
    /// hashes.
    pub(crate) fn is_sticky(&self, has_key: bool) -> bool {
        match self {
            Self::Keyed => !has_key,
            Self::Sticky => true,
            Self::Random | Self::RoundRobin | Self::Own(_) => false,
        }
    }
}

/// A pseudo-random number for each step.
fn scattered(step: u32) -> u32 {
    let number = SeededRandom::new(u64::from(step)).number();
    u32::try_from(number >> 32).unwrap_or(0)
}

impl fmt::Debug for Partitioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyed => "Keyed",
            Self::Sticky => "Sticky",
            Self::Random => "Random",
            Self::RoundRobin => "RoundRobin",
            Self::Own(_) => "Own",
        })
    }
}

/// The constants of `MurmurHash2` in Kafka's Java client.
const SEED: u32 = 0x9747_b28c;
const MULTIPLIER: u32 = 0x5bd1_e995;

/// The hash of `key`, by `MurmurHash2` as in Kafka's Java client, so that a key maps to the same
/// partition whichever client wrote it.
fn murmur2(key: &[u8]) -> u32 {
    // Java's lengths are 32-bit; no record is longer.
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut hash = SEED ^ length;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> 24;
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed.wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        for (byte, shift) in rest.iter().zip([0, 8, 16]) {
            hash ^= u32::from(*byte) << shift;
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(partitioner: &Partitioner, key: Option<&[u8]>, advancing: bool) -> Vec<usize> {
        let cursor = PartitionCursor::new(1);
        let mut counts = vec![0; 4];
        for _ in 0..400 {
            let record = Chosen { topic: "t", key, value: None };
            counts[partitioner.choose(record, &cursor, 4)] += 1;
            if advancing {
                cursor.advance();
            }
        }
        counts.sort_unstable();
        counts
    }

    #[test]
    fn records_spread_as_their_partitioner_says() {
        assert_eq!(spread(&Partitioner::Keyed, Some(b"k"), true), [0, 0, 0, 400]);
        assert_eq!(spread(&Partitioner::Keyed, None, false), [0, 0, 0, 400]);
        assert_eq!(spread(&Partitioner::Keyed, None, true), [100; 4]);
        assert_eq!(spread(&Partitioner::Sticky, Some(b"k"), false), [0, 0, 0, 400]);
        assert_eq!(spread(&Partitioner::Sticky, Some(b"k"), true), [100; 4]);
        assert_eq!(spread(&Partitioner::RoundRobin, Some(b"k"), false), [100; 4]);
        assert!(spread(&Partitioner::Random, None, false)[0] > 50);
        let own = Partitioner::Own(Arc::new(|_, _, _, count| count + 1));
        assert_eq!(spread(&own, None, false), [0, 0, 0, 400]);
    }

    #[test]
    fn a_key_maps_to_the_same_partition_as_in_the_java_client() {
        let record = Chosen { topic: "t", key: Some(b"21"), value: None };
        let expected =
            usize::try_from((-973_932_308_i32).cast_unsigned() & 0x7fff_ffff).unwrap() % 1000;
        assert_eq!(Partitioner::Keyed.choose(record, &PartitionCursor::new(0), 1000), expected);
    }

    #[test]
    fn hashes_match_those_of_the_java_client() {
        let known: [(&[u8], i32); 6] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
        ];
        for (key, hash) in known {
            assert_eq!(murmur2(key).cast_signed(), hash, "{}", key.escape_ascii());
        }
    }
}
