//! Bringing appended records to the disk: when, together with what, and within which budget.

mod agenda;

pub use agenda::{FlushRule, Unflushed};

#[cfg(test)]
mod agenda_tests;
