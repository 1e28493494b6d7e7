//! The values of the nodes: JSON in the shape of Kafka 3.9, which its tools can read.
//!
//! Fields we do not know are kept where a value is rewritten. What cannot be read is [`Malformed`],
//! never a panic: whoever can write to the store is not trusted to write sense.

mod broker;
mod cluster;
mod config;
mod json;
mod partition;
mod topic;

pub(super) use broker::{decode_broker, encode_broker};
pub(super) use cluster::{
    ClusterIdValue, ControllerValue, MarkerValue, ProducerIdBlock, decode_controller_epoch,
};
pub(super) use config::ConfigValue;
pub(super) use json::{Malformed, decode, encode};
pub(super) use partition::{decode_state, encode_state};
pub(super) use topic::{TombstoneValue, TopicValue};
