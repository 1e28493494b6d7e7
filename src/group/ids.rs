//! Identifiers within a group: the group, its members, its generations; and the partition of the
//! internal topic to which a group belongs.

use std::fmt;
use std::sync::Arc;

use crate::types::PartitionIndex;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as a string slice.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The id of a consumer group, chosen by its users.
    GroupId
}

name! {
    /// The id of one incarnation of a member, assigned by the coordinator: `<client or
    /// instance>-<uuid>`.
    MemberId
}

name! {
    /// The `group.instance.id` of a static member, which stays the same across incarnations.
    InstanceId
}

/// The maximum size of a group id, instance id, client id or protocol name, all of which are stored
/// in records of the internal topic.
pub(in crate::group) const NAME_BYTES_MAX: usize = 255;

/// The generation of a group, which rises with every completed rebalance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub i32);

impl Generation {
    /// The protocol's −1: not a member.
    pub const NONE: Self = Self(-1);

    /// The generation after this one.
    #[must_use]
    pub(in crate::group) const fn next(self) -> Self {
        // Negative numbers are sentinels, so wrap around to 1.
        Self(if self.0 == i32::MAX { 1 } else { self.0 + 1 })
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Truncates `text` to [`NAME_BYTES_MAX`], between characters.
pub(in crate::group) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

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
