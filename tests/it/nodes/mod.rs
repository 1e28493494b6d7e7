//! Clusters in this process, and their faults.

mod network;
mod pauses;
mod power;
mod processes;
mod slow_disk;
mod starting;
mod store;
mod three_nodes;
