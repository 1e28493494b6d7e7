//! The flusher: schedules the flushes of appended records, groups them and keeps to a budget.

mod flush_queue;
mod flush_slots;
mod flusher_threads;

pub use flusher_threads::{FlushListener, Flushed, Flusher, FlusherOptions};

#[cfg(test)]
mod flush_queue_tests;
#[cfg(test)]
mod flusher_tests;
