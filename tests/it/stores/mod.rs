//! The stores of metadata: one set of facts for all of them.

mod facts;
mod in_process;
mod proxy;
mod zookeeper;
