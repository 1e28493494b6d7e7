//! `streamlog partition`: damage in partitions, leaders that lack records, and deleted states.

mod damage;
mod elect;
mod options;
mod place;
mod rebuild_state;
mod skip_damage;

pub(crate) use options::Options;
