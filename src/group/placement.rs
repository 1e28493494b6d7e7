//! The mapping of groups to partitions of the internal topic.

use crate::group::GroupId;
use crate::types::PartitionIndex;

/// The partition of `group` among `partitions`: the absolute value of Java's `String.hashCode`,
/// modulo their number.
///
/// # Panics
/// If `partitions` is not positive.
pub fn partition_for(group: &GroupId, partitions: i32) -> PartitionIndex {
    assert!(partitions > 0, "the internal topic has {partitions} partitions");
    let hash = group
        .as_str()
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // The smallest integer has no positive counterpart; Kafka uses 0 instead.
    PartitionIndex(hash.checked_abs().unwrap_or(0) % partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_live_where_kafka_puts_them() {
        // Expected values are those of Java's `Math.abs("...".hashCode()) % 50`.
        for (group, hash) in [("", 0), ("a", 97), ("ab", 3105), ("hello", 99_162_322)] {
            assert_eq!(partition_for(&GroupId::from(group), i32::MAX).0, hash, "{group}");
            assert_eq!(partition_for(&GroupId::from(group), 50).0, hash % 50, "{group}");
        }
    }

    #[test]
    fn the_lowest_hash_is_partition_zero() {
        // This text's hash is −2³¹.
        assert_eq!(
            partition_for(&GroupId::from("polygenelubricants"), i32::MAX),
            PartitionIndex(0)
        );
    }

    #[test]
    fn characters_beyond_the_basic_plane_count_as_two() {
        // U+1F600 is D83D DE00 in UTF-16: 0xD83D · 31 + 0xDE00.
        let hash = 0xd83d * 31 + 0xde00;
        assert_eq!(partition_for(&GroupId::from("😀"), i32::MAX).0, hash);
    }
}
