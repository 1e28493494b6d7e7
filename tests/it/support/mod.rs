//! Shared support of the integration tests.

mod broker_process;
mod committed;
mod connection;
mod disk_copy;
mod golden_requests;
mod local_broker;
mod preload;
mod proxy;
mod random;
mod topic_settings;
mod topics;
mod witness;
mod zookeeper;

pub(crate) use broker_process::BrokerProcess;
pub(crate) use committed::{commit, find_coordinator, stored};
pub(crate) use connection::{
    Connection, FETCH, PRODUCE, accepted, batch, once_loaded, packed_batch, sequenced, values,
};
pub(crate) use disk_copy::{Files, disk_of, files_in};
pub(crate) use golden_requests::{Decode, GoldenRequest, golden_requests};
pub(crate) use local_broker::{LocalBroker, TOPIC};
pub(crate) use preload::Faults;
pub(crate) use proxy::Proxy;
pub(crate) use random::{Random, seeds};
pub(crate) use topic_settings::{set_topic, topic_setting};
pub(crate) use topics::{create_topic, try_create_topic};
pub(crate) use witness::Witness;
pub(crate) use zookeeper::{ZooKeeper, ZooKeeperEnsemble};
