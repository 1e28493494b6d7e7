//! The flusher: schedules the flushes of appended records, groups them and keeps to a budget.

mod agenda;
mod alarm;
mod hands;
mod threads;

pub(in crate::storage) use alarm::Alarm;
pub use threads::{FlushListener, Flushed, Flusher, FlusherOptions};

#[cfg(test)]
mod agenda_tests;
#[cfg(test)]
mod flusher_tests;
