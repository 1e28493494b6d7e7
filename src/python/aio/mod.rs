//! The foundation of `streamlog.aio`: connecting, sending and reading on an event loop.
//!
//! Available messages are taken directly and never inside a future, so that cancelling a future
//! loses no message.

mod opening;
mod outbox;
mod reader;
mod time_slice;

pub(super) use opening::{admin, close, connect, consumer, range, until_end};
pub(super) use outbox::{Outbox, Prepared};
pub(super) use reader::Reader;
