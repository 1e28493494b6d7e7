//! Names within a group: the group, its members, its generations.

use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
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
    /// Name of a consumer group, as its users chose it.
    GroupId
}

name! {
    /// Name of one life of a member, given by the coordinator: `<client or instance>-<uuid>`.
    MemberId
}

name! {
    /// `group.instance.id`: name of a static member, the same through all its lives.
    InstanceId
}

/// The most bytes that a group id, instance id, client id or protocol name may have: all of them
/// end in records of the internal topic.
pub(in crate::group) const NAME_BYTES_MAX: usize = 255;

/// How often the members of a group have been fixed: it rises with every completed rebalance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub i32);

impl Generation {
    /// "Not a member": the protocol's −1.
    pub const NONE: Self = Self(-1);

    /// The generation after this one.
    #[must_use]
    pub(in crate::group) const fn next(self) -> Self {
        // Negative numbers are sentinels, so the count starts again below the top.
        Self(if self.0 == i32::MAX { 1 } else { self.0 + 1 })
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `text` without what goes beyond [`NAME_BYTES_MAX`], cut between characters.
pub(in crate::group) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}
