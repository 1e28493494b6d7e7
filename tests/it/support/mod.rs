//! What the integration tests share.

mod connection;
mod local_broker;
mod random;

pub use connection::{Connection, batch, values};
pub use local_broker::{LocalBroker, TOPIC};
pub use random::{Random, seeds};
