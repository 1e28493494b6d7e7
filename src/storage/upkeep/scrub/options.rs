//! The settings of the scrubber.

use std::time::Duration;

use crate::config::{ByteSize, Key, Kind, millis, size};

/// The interval and the rate at which every record is read to find damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubOptions {
    /// The time after which a log is due again; `None` disables scrubbing.
    pub interval: Option<Duration>,
    /// The most bytes read in a second.
    pub rate: ByteSize,
}

impl Default for ScrubOptions {
    fn default() -> Self {
        Self { interval: Some(Duration::from_hours(7 * 24)), rate: ByteSize(16 << 20) }
    }
}

impl ScrubOptions {
    /// The settings by name.
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "log.scrub.interval.ms",
            about: "The interval in milliseconds in which every record is read from the disk and \
                    checked; -1 disables it.",
            kind: Kind::Long,
            set: |c, text| match text.trim() {
                "-1" => {
                    c.interval = None;
                    Ok(())
                }
                text => millis(text, 1).map(|v| c.interval = Some(v)),
            },
            get: |c| c.interval.map_or_else(|| "-1".to_owned(), |v| v.as_millis().to_string()),
        },
        Key {
            name: "log.scrub.io.max.bytes.per.second",
            about: "The most bytes that these checks read in a second.",
            kind: Kind::Long,
            set: |c, text| size(text, 1 << 16, 1 << 40).map(|v| c.rate = v),
            get: |c| c.rate.to_string(),
        },
    ];
}
