//! `streamlog partition`: damage of partitions, and going on behind it.

mod damage;
mod options;
mod skip_damage;

pub(crate) use options::Options;
