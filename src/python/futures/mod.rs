//! The client's futures as futures of asyncio, polled on the thread of an asyncio loop.
//!
//! ```text
//! client's thread   wakes a future → records its number → writes to the loop's descriptor
//! loop's thread     sees it readable → polls woken futures → sets asyncio results
//! ```
//!
//! No thread blocks, and the client's thread never acquires the interpreter.

mod event_loop;
mod wakeup;

pub(super) use event_loop::EventLoop;
