//! Whether a segment's bytes still are what was written: checks, and the damage they find.

mod check;
mod damage;
mod damages;
mod vouched;
mod watched;

pub(crate) use check::Chain;
pub(in crate::storage) use check::SegmentCheck;
pub use damage::Damage;
pub(crate) use damages::Damages;
pub(crate) use vouched::Vouched;
pub(crate) use watched::{SentFile, WatchedFile};
