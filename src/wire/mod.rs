//! Kafka's wire protocol: frames, primitives and messages. Pure bytes; knows no log and no socket.
//!
//! Every message is declared once, in `messages/<api>.rs`, and works in both directions: a broker
//! decodes requests and encodes responses, a client the reverse. What a message holds is decided
//! here; what it means, and which versions a broker advertises, is not.
//!
//! Bytes are taken to be hostile. Reading them never panics, never indexes unchecked, and never
//! allocates by a length that the remaining bytes do not cover.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod api_key;
mod consumer_protocol;
mod error;
mod error_code;
mod frame;
mod layout;
#[cfg(test)]
mod message_tests;
mod messages;
#[cfg(test)]
mod oracle_tests;
mod primitive;
mod reader;
mod records;
#[cfg(test)]
mod sample;
mod structure;
mod writer;

pub use api_key::ApiKey;
pub use consumer_protocol::{Assignment, Subscription, TopicPartitions};
pub use error::WireError;
pub use error_code::ErrorCode;
pub use frame::{Message, RequestHeader, decode_response, encode_request, encode_response};
pub use layout::Layout;
pub use messages::*;
pub use primitive::{Nullable, Wire};
pub use reader::Reader;
pub use records::{EncodedFrame, Piece, Records};
pub use writer::Writer;
