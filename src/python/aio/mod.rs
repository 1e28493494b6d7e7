//! The foundation of `streamlog.aio`: the client's futures, polled on the thread of an asyncio
//! loop.
//!
//! ```text
//! client's thread   wakes a future → records its number → writes to the loop's eventfd
//! loop's thread     sees the eventfd readable → polls woken futures → sets asyncio results
//! ```
//!
//! No thread blocks, and the client's thread never acquires the interpreter. Available messages are
//! taken directly and never inside a future, so that cancelling a future loses no message.

mod event_loop;
mod opening;
mod outbox;
mod reader;
mod time_slice;
mod wakeup;

pub(super) use event_loop::EventLoop;
pub(super) use opening::{admin, close, connect, consumer, range, until_end};
pub(super) use outbox::{Outbox, Prepared};
pub(super) use reader::Reader;
