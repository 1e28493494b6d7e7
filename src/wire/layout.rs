//! The layout of a message.

use std::ops::RangeBounds;

use super::ApiKey;

/// The version of a message and the form of its encoding, which is *flexible* from a certain
/// version on: it has compact lengths and tagged fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The version of the API.
    pub version: i16,
    /// True if lengths are varints and every structure ends in tagged fields.
    pub flexible: bool,
}

impl Layout {
    /// The layout of `api`'s messages in this version.
    pub const fn of(api: ApiKey, version: i16) -> Self {
        Self { version, flexible: version >= api.first_flexible() }
    }

    /// A layout without compact lengths and tagged fields.
    pub const fn classic(version: i16) -> Self {
        Self { version, flexible: false }
    }

    /// Returns true if this version lies within `versions`.
    pub fn is_in(self, versions: impl RangeBounds<i16>) -> bool {
        versions.contains(&self.version)
    }
}
