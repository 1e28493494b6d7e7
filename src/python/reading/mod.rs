//! Reading: consumers, their bounded forms, messages, and what a topic's logs hold.

mod bounded;
mod consumer;
mod message;
mod topic;
mod until_end;

pub(super) use bounded::Bounded;
pub(super) use consumer::Consumer;
pub(super) use message::Message;
pub(super) use topic::Topic;
pub(super) use until_end::UntilEnd;
