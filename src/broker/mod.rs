//! A broker.
mod address;
mod authorize;
mod config;
pub use address::HostPort;
pub use config::BrokerConfig;
