//! All settings of a client under Kafka's names. A dictionary written for another client can be
//! passed as it is: each setting is either applied or refused with the reason.

mod dictionary;
#[cfg(test)]
mod dictionary_tests;
mod foreign;

pub use dictionary::{ClientSettings, Scope};
