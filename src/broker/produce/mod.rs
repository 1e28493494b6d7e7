//! Produce: batches are checked, appended, and answered when what `acks` asks has come true.
//!
//! ```text
//! frames of one read → Appends: gathered, then by partition checked and appended → Produced
//! Produced → waits for flushed offset or high watermark → answers
//! ```
//!
//! A batch stays where the socket put it: offsets and epoch are written into the frame, and the
//! disk gets it from there; unless its topic wants it packed by another codec.

mod appends;
mod opening;
mod part;
mod produced;

pub(crate) use appends::{Appends, Taken};
pub(crate) use opening::answer_after_opening;
pub(crate) use produced::Produced;
