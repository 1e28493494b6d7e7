//! Sending: producers, tickets, and metadata of delivered records.

mod columns;
mod partitioner;
mod producer;
mod record;
mod record_metadata;
mod serializers;
mod ticket;

pub(super) use producer::Producer;
pub(super) use record::OwnedRecord;
pub(super) use record_metadata::RecordMetadata;
pub(super) use serializers::Keywords;
pub(super) use ticket::Ticket;
