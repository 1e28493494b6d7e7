//! Getting a log back: from its files alone after a crash, by its own word after a close.

mod directory;
mod replay;

pub(crate) use directory::existing_segments;
pub(crate) use replay::{load_epochs, load_producers};
