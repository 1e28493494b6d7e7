//! `streamlog partition`: damage in partitions, and leaders that lack records.

mod damage;
mod elect;
mod options;
mod place;
mod skip_damage;

pub(crate) use options::Options;
