//! Replication between three broker processes on a real ZooKeeper: leaders that are killed, paused
//! or cut off, or hand over, followers that catch up, and what stands on partitions.

mod administration;
mod data_loss;
mod fault_runs;
mod groups;
mod guards;
mod kills;
mod leaders;
mod leases;
mod load;
mod planned;
mod producers;
mod removed_records;
mod three_brokers;
mod topics;
mod watcher;
