//! Getting a log back: from its files alone after a crash, by its own word after a close.
//!
//! After a crash everything from the marks on is read from the medium and judged. What follows a
//! bad batch depends on what had been promised:
//!
//! | the batch is | and | then |
//! |---|---|---|
//! | below the durable point | | damage: kept, never served, never cut |
//! | above it | the power failed | a torn tail: cut, the bytes kept aside |
//! | above it | the machine ran on, a good batch follows | damage |
//! | above it | the machine ran on, no good batch follows | a torn tail |

mod cut;
mod directory;
mod recover;
mod replay;
mod scanner;

pub(crate) use directory::existing_segments;
pub(crate) use recover::recover;
pub(crate) use replay::{load_epochs, load_producers};
pub(crate) use scanner::Known;
