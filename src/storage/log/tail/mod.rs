//! The end of a log, where records are appended. Its state, and the bounds and segments that
//! readers see, are changed under one lock, by the functions of this folder only.

mod activation;
mod active;
mod append;
mod fetched;
mod log_tail;
mod offsets;
mod rebuild_point;
mod roll;
mod segment_list;
mod state;
mod truncation;
mod unrecorded;
mod unsynced;
mod view;

pub(super) use active::Active;
pub use append::{AppendAt, Appended};
pub(super) use log_tail::Tail;
pub(super) use rebuild_point::RebuildPoint;
pub(in crate::storage) use segment_list::Segments;
pub(super) use truncation::Cut;
pub use unsynced::Unflushed;
pub(super) use unsynced::Unsynced;
pub(super) use view::View;
