//! What the integration tests share.

mod connection;
mod golden_requests;
mod local_broker;
mod random;
mod witness;

pub use connection::{Connection, batch, values};
pub use golden_requests::{GoldenRequest, golden_requests};
pub use local_broker::{LocalBroker, TOPIC};
pub use random::{Random, seeds};
pub use witness::Witness;
