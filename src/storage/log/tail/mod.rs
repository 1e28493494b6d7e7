//! The end of a log, where records are appended: its state is changed under one lock, by the
//! functions of this folder only.

mod activation;
mod active;
mod append;
mod log_tail;
mod rebuild_point;
mod roll;
mod state;
#[cfg(any(test, feature = "internals"))]
mod truncation;
mod unrecorded;
mod unsynced;

pub(super) use active::Active;
pub use append::{AppendAt, Appended};
pub(super) use log_tail::Tail;
pub(super) use rebuild_point::RebuildPoint;
#[cfg(any(test, feature = "internals"))]
pub(super) use truncation::Cut;
pub use unsynced::Unflushed;
pub(super) use unsynced::Unsynced;
