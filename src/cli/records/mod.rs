//! `streamlog produce`, `consume` and `tail`: records in and out of topics.

pub(crate) mod consume;
mod encoding;
mod format;
mod input;
mod lines;
pub(crate) mod produce;
mod row;
mod selection;
pub(crate) mod tail;
