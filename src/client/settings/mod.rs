//! All settings of a client under Kafka's names, so that a dictionary written for another client
//! can be handed over as it is: a setting is used, or refused with the reason.

mod dictionary;
#[cfg(test)]
mod dictionary_tests;
mod elsewhere;

pub use dictionary::{ClientSettings, Scope};
