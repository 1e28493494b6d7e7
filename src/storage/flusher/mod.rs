//! Bringing appended records to the disk: when, together with what, and within which budget.

mod agenda;

#[cfg(test)]
mod agenda_tests;
