//! Logs that have lost records which were durable.

mod gone_logs;
mod lost_logs;
#[cfg(test)]
mod lost_logs_tests;

pub use lost_logs::Unreadable;
