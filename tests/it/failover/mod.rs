//! Replication between three broker processes on a real ZooKeeper: leaders that are killed,
//! followers that catch up.

mod kills;
mod load;
mod three_brokers;
