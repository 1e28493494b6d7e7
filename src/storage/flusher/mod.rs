//! Bringing appended records to the disk: when, together with what, and within which budget.

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
