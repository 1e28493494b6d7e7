//! The codecs: their numbers in a batch's attributes and their names in settings.

use std::fmt;
use std::str::FromStr;

/// The codec of a batch's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// RFC 1952.
    Gzip,
    /// Snappy blocks, in the framing of the Java library or bare.
    Snappy,
    /// The LZ4 frame format.
    Lz4,
    /// The Zstandard frame format, RFC 8878.
    Zstd,
}

/// The level of lz4's fast encoder: 9, which is Kafka's default level.
pub(super) const LZ4_FAST: i32 = 9;

/// The largest level at which zstd is fast: 3, its default.
const ZSTD_FAST_MAX: i32 = 3;

/// A codec and its compression level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The codec.
    pub compression: Compression,
    /// The level on the codec's own scale; `None` for its default.
    pub level: Option<i32>,
}

/// An unknown codec name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a codec is none, gzip, snappy, lz4 or zstd, not {0:?}")]
pub struct UnknownCompression(pub String);

impl Packing {
    /// Returns true for codecs and levels that put speed before size. Gzip has no such level. The
    /// levels of lz4 other than 9 use another, slower encoder.
    pub fn is_fast(self) -> bool {
        match self.compression {
            Compression::None | Compression::Snappy => true,
            Compression::Gzip => false,
            Compression::Lz4 => self.level.is_none_or(|level| level == LZ4_FAST),
            Compression::Zstd => self.level.is_none_or(|level| level <= ZSTD_FAST_MAX),
        }
    }
}

impl Compression {
    /// Every codec, in order of their numbers.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The number in a batch's attributes.
    pub const fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// True if the codec has compression levels.
    pub const fn has_levels(self) -> bool {
        matches!(self, Self::Gzip | Self::Lz4 | Self::Zstd)
    }

    /// The name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(name: &str) -> Result<Self, UnknownCompression> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name() == name)
            .ok_or_else(|| UnknownCompression(name.to_owned()))
    }
}
