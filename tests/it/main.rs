//! Integration tests: whole brokers in this process, spoken to over loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test waits in real time")]

mod admin_client;
mod administration;
mod cluster;
mod cold_reads;
mod consuming;
mod durability;
mod embedded;
mod golden_directory;
mod groups;
mod hostile;
mod log_command;
mod memberships;
mod misconfigured;
mod power_cuts;
mod producing;
mod removal;
mod stopping;
mod support;
