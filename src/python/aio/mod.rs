//! What `streamlog.aio` stands on: the client's futures, polled on the thread of an asyncio loop.
//!
//! ```text
//! client's thread   wakes a future → writes down its number → rings the loop, once for many
//! loop's thread     is told by an eventfd → polls what was woken → sets results of asyncio futures
//! ```
//!
//! No thread waits for anything, and the client's thread never asks for the interpreter. Messages
//! that are there are taken without a way through the loop, and never by a future: one that is
//! cancelled has taken none.

mod bell;
mod event_loop;
mod opening;
mod outbox;
mod reader;
mod turn;

pub(super) use event_loop::EventLoop;
pub(super) use opening::{admin, close, connect, consumer, range, until_end};
pub(super) use outbox::{Outbox, Prepared};
pub(super) use reader::Reader;
