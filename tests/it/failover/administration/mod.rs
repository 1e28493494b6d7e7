//! Three brokers in the hands of operators: listeners, damaged disks, deleted nodes of ZooKeeper,
//! brokers that are gone.

mod damaged;
mod deleted_nodes;
mod forgotten;
mod listeners;
