//! The settings of the scrubber.

use std::time::Duration;

use crate::config::{ByteSize, settings};

settings! {
    /// The interval and the rate at which every record is read to find damage.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ScrubOptions {
        /// The interval in milliseconds in which every record is read from the disk and checked;
        /// -1 disables it.
        #[setting("log.scrub.interval.ms", Long in 1..)]
        interval: Option<Duration> = Some(Duration::from_hours(7 * 24)),
        /// The most bytes that these checks read in a second.
        #[setting("log.scrub.io.max.bytes.per.second", Long in 1 << 16..=1 << 40)]
        rate: ByteSize = ByteSize(16 << 20),
    }
}
