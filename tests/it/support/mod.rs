//! What the integration tests share.

mod connection;
mod local_broker;
mod random;

pub(crate) use connection::{Connection, batch, values};
pub(crate) use local_broker::{LocalBroker, TOPIC};
pub(crate) use random::{Random, seeds};
