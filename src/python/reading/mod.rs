//! Reading: consumers, bounded reads, batches and messages.

mod arrow;
mod batches;
mod bounded;
mod consumer;
mod decoding;
mod held;
mod hooks;
mod message;
mod range;
mod session;
mod source;
mod stream;
mod subscription;
mod until_end;

pub(super) use arrow::ArrowBatches;
pub(super) use batches::{Batch, Batches};
pub(super) use bounded::Bounded;
pub(super) use consumer::Consumer;
pub(super) use decoding::{Letter, Offered};
pub(super) use message::{Message, generic};
pub(super) use range::{Decoders, Part, Range};
pub(super) use session::Readable;
pub(super) use source::Source;
pub(super) use stream::Stream;
pub(super) use subscription::read_topics;
pub(super) use until_end::UntilEnd;
