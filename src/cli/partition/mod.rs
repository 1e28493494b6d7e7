//! `streamlog partition`: damage in partitions, and skipping it.

mod damage;
mod options;
mod skip_damage;

pub(crate) use options::Options;
