//! Opening a log: recovery from its files after a crash, or from its recorded bounds after a close.
//!
//! After a crash everything from the recorded offsets on is read from the medium and checked. The
//! treatment of a bad batch depends on the guarantees given before:
//!
//! | the batch is | and | then |
//! |---|---|---|
//! | below the durable point | | damage: kept, never served, never truncated |
//! | above the durable point | the power, or a sync, failed | a torn tail: truncated, kept in quarantine |
//! | above the durable point | only the process ended, a good batch follows | damage |
//! | above the durable point | only the process ended, no good batch follows | a torn tail |

mod directory;
mod lost_segments;
mod recover;
mod removed_start;
mod replay;
mod scanner;
mod torn_tail;

pub(crate) use directory::existing_segments;
pub(crate) use lost_segments::differ_from_close;
pub(crate) use recover::recover;
pub(in crate::storage) use removed_start::removed_below;
pub(in crate::storage) use replay::{as_it_was_sent, discard_snapshots};
pub(crate) use replay::{load_epochs, load_producers};
pub(crate) use scanner::Known;
