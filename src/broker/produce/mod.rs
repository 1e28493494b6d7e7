//! `Produce`: batches are validated, appended, and acknowledged according to `acks`.
//!
//! ```text
//! frames of one read → Appends: gathered, then by partition checked and appended → Produced
//! Produced → waits for flushed offset or high watermark → answers
//! ```
//!
//! A batch stays in the receive buffer: base offset and epoch are written into the frame, from
//! which it goes to the disk. Only a batch that its topic stores with another codec is copied.

mod appends;
mod batch_check;
mod part;
mod produced;

pub(crate) use appends::{Appends, Taken, answer_after_opening};
pub(crate) use produced::Produced;
