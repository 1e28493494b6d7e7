//! Brokers in this process, one or a cluster of several.

mod broker;
mod node;
mod running;

pub(crate) use broker::Broker;
pub(crate) use node::Node;
