//! The caching of a partition: records that count before they are flushed (`write.caching`).
//!
//! The setting of a topic is not enough to tell what may be lost: after it is switched off, records
//! that counted before may still be unflushed. So the state of the partition says that it caches
//! (rule R14 in `rules.rs`), and goes on to say so until all in-sync replicas have flushed them.

/// The way in which records of a partition count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Records count once they are flushed, and all that counted earlier are flushed.
    #[default]
    Off,
    /// Records count once they are flushed. Of those that counted earlier, some may not be flushed.
    Ending,
    /// Records count once they are appended.
    On,
}

impl Caching {
    /// The caching of a partition, given the setting of its topic, and whether its state in the
    /// store says that it caches.
    pub fn of(is_set: bool, is_recorded: bool) -> Self {
        match (is_set, is_recorded) {
            (_, false) => Self::Off,
            (false, true) => Self::Ending,
            (true, true) => Self::On,
        }
    }
}
