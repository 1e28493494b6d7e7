//! A map from keys to their last offsets, within bounded memory.
//!
//! A key is represented by 128 bits, two keyed hashes of 64 bits with new hash keys for every map.
//! So an attacker cannot choose colliding keys, and an accidental collision is practically
//! impossible. A full map takes no new key, and compaction cleans the part that it covers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::config::ByteSize;
use crate::types::Offset;

/// The last offsets of keys.
#[derive(Debug)]
pub(super) struct OffsetMap {
    offsets: HashMap<[u64; 2], Offset>,
    hashers: [RandomState; 2],
    keys_max: usize,
}

/// Bytes of an entry, including the byte that the table keeps beside it.
const ENTRY: usize = size_of::<([u64; 2], Offset)>() + 1;

impl OffsetMap {
    /// An empty map that takes at most `memory`, and less while it has few keys.
    pub(super) fn new(memory: ByteSize) -> Self {
        let memory = usize::try_from(memory.0).unwrap_or(usize::MAX);
        // A full table is replaced by one twice as large, and lives until its entries have moved. A
        // table is at most seven eighths full.
        let places = (memory / 3 * 2 / ENTRY).max(16);
        let table = 1_usize << places.ilog2();
        Self {
            offsets: HashMap::new(),
            hashers: [RandomState::new(), RandomState::new()],
            keys_max: table / 8 * 7,
        }
    }

    /// Adds a record; offsets rise from call to call. Returns false if there is no space for its
    /// key.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        let hash = self.hash(key);
        if let Some(last) = self.offsets.get_mut(&hash) {
            assert!(*last <= offset, "offset {offset} after {last}");
            *last = offset;
            return true;
        }
        if self.offsets.len() >= self.keys_max {
            return false;
        }
        self.offsets.insert(hash, offset);
        true
    }

    /// The last offset added for a key.
    pub(super) fn last(&self, key: &[u8]) -> Option<Offset> {
        self.offsets.get(&self.hash(key)).copied()
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let [one, other] = &self.hashers;
        [one.hash_one(key), other.hash_one(key)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_offset_of_a_key_is_kept() {
        let mut map = OffsetMap::new(ByteSize(1 << 20));
        for (offset, key) in [b"a", b"b", b"a"].into_iter().enumerate() {
            assert!(map.put(key, Offset::new(i64::try_from(offset).unwrap())));
        }
        assert_eq!(map.last(b"a"), Some(Offset::new(2)));
        assert_eq!(map.last(b"b"), Some(Offset::new(1)));
        assert_eq!(map.last(b"c"), None);
    }

    #[test]
    fn a_full_map_takes_known_keys_only_and_stays_within_its_memory() {
        let memory = 100_000;
        let mut map = OffsetMap::new(ByteSize(memory));
        let mut taken = 0_usize;
        while map.put(&taken.to_be_bytes(), Offset::new(0)) {
            taken += 1;
        }
        assert!(taken >= 1_000, "{taken} keys");
        let table = (map.offsets.capacity() / 7 * 8).next_power_of_two();
        // While the table grew, the old table of half the size existed too.
        assert!((table + table / 2) * ENTRY <= usize::try_from(memory).unwrap(), "{table} places");
        assert!(map.put(&0_usize.to_be_bytes(), Offset::new(9)));
        assert_eq!(map.last(&0_usize.to_be_bytes()), Some(Offset::new(9)));
    }
}
