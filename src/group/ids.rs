//! Identifiers within a group: the group, its members, its generations.

use std::fmt;
use std::sync::Arc;

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
