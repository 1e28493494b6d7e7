//! Positions in a partition's log, counted in records (or bytes, with `offset.unit=byte`).

use std::fmt;

/// The position of a record within one partition's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(i64);

impl Offset {
    /// The first offset of every new log.
    pub const ZERO: Self = Self(0);

    /// The offset with this number. Negative numbers exist only on the wire, as sentinels; they
    /// must be translated before they become an `Offset`.
    ///
    /// # Panics
    /// If `number` is negative: the caller has not translated a sentinel.
    pub const fn new(number: i64) -> Self {
        assert!(number >= 0, "an offset is never negative");
        Self(number)
    }

    /// The offset with this number, or `None` if it is negative.
    pub const fn checked(number: i64) -> Option<Self> {
        if number < 0 { None } else { Some(Self(number)) }
    }

    /// The number itself.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The offset that follows this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The offset `count` after this one.
    #[must_use]
    pub const fn plus(self, count: i64) -> Self {
        Self::new(self.0.saturating_add(count))
    }

    /// The distance from `earlier` to `self`; negative if `self` comes first.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
