//! Integration tests: whole brokers in this process, spoken to over loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test waits in real time")]

mod administration;
mod byte_offsets;
mod client;
mod cluster;
mod commands;
mod compaction;
mod disks;
mod durability;
mod embedded;
mod failover;
mod full_disk;
mod golden_directory;
mod groups;
mod hostile;
mod idempotence;
mod leader_epochs;
mod listening;
mod misconfigured;
mod nodes;
mod power_cuts;
mod repacking;
mod replicas;
mod rot;
mod shards;
mod stopping;
mod stores;
mod support;
