//! The settings of a consumer, and of its membership in a group.

mod consumer;
mod group;
mod strategy;

pub use consumer::{ConsumerConfig, OutOfRange, Start};
pub use group::{Commit, GroupConfig};
pub use strategy::Strategy;
