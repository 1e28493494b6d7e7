//! Sending: producers, tickets, and metadata of delivered records.

mod columns;
mod given;
mod making;
mod producer;
mod record_metadata;
mod ticket;

pub(super) use given::{Given, Keywords};
pub(super) use producer::Producer;
pub(super) use record_metadata::RecordMetadata;
pub(super) use ticket::Ticket;
