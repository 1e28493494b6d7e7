//! The nodes of a store that lives in this process, and the effect of transactions on them.

mod nodes;
mod shared_values;

pub(super) use nodes::{Change, Entry, Tree};
pub(super) use shared_values::SharedValues;
