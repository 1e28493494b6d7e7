//! Which codec, by the number in a batch's attributes and by its name in settings.

use std::fmt;
use std::str::FromStr;

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
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

/// A codec, and how hard it tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The codec.
    pub compression: Compression,
    /// In the codec's own scale; `None` is its default.
    pub level: Option<i32>,
}

/// A name that is not one of a codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a codec is none, gzip, snappy, lz4 or zstd, not {0:?}")]
pub struct UnknownCompression(pub String);

impl Compression {
    /// Every codec, by rising number.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// Its number in a batch's attributes.
    pub const fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// Whether it can be told how hard to try.
    pub const fn has_levels(self) -> bool {
        matches!(self, Self::Gzip | Self::Lz4 | Self::Zstd)
    }

    /// Its name in settings.
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
