//! A consumer as a member of a group: which partitions are its share, and how far it has come.
//!
//! One task of the client joins, tells that the member lives, stores its offsets, and takes part in
//! rebalances, all while the program works on a message: a slow program is never put out of its
//! group for it. When the share changes, what was fetched of the old one is not given out any more.
//! The member that leads computes everyone's share; the broker only passes it on.

mod assignors;
mod calls;
mod config;
mod member;
mod standing;

pub use assignors::Strategy;
pub use config::{Commit, GroupConfig};

pub(crate) use calls::share as share_of;
pub(crate) use member::Member;
pub(crate) use standing::Standing;
