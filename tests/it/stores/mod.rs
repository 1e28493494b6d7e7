//! The stores of metadata: one set of facts for all of them, and brokers on ZooKeeper.

mod brokers;
mod facts;
mod hand_edits;
mod in_process;
mod members;
mod starting;
mod zookeeper;
