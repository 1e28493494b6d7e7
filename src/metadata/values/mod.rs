//! The values of nodes: JSON in the format of Kafka 3.9, which its tools can read.
//!
//! Unknown fields of topics, partitions, settings and known brokers are preserved when the value is
//! rewritten. An unreadable value is [`Malformed`], never a panic: writers to the store are not
//! trusted.

mod broker;
mod cluster;
mod config;
mod json;
mod known_broker;
mod partition;
mod topic;
mod unclean_election;

pub(super) use broker::{decode_broker, encode_broker};
pub(super) use cluster::{
    ClusterIdValue, ControllerValue, MarkerValue, ProducerIdBlock, decode_controller_epoch,
};
pub(super) use config::{BrokerConfigsValue, ConfigValue};
pub(super) use json::{Malformed, decode, encode, is_false};
pub(super) use known_broker::KnownBrokerValue;
pub(super) use partition::{decode_state, encode_state};
pub(super) use topic::{NewPartitionsValue, TombstoneValue, TopicValue};
pub(super) use unclean_election::UncleanElectionValue;
