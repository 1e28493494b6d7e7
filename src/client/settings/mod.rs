//! The settings of a client, named as in Kafka where Kafka has them. A dictionary written for
//! another Kafka client is understood: each setting is applied, accepted because this client always
//! behaves so, or refused with the reason.

mod dictionary;
#[cfg(test)]
mod dictionary_tests;
mod foreign;

pub use dictionary::{ClientSettings, Scope};
