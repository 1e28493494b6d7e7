//! The nodes of a store that lives in this process, and the effect of transactions on them.

mod nodes;

pub(super) use nodes::{Change, Entry, SharedValues, Tree};
