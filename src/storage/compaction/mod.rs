//! Compaction: of all records with the same key only the last one is kept.
//!
//! Only whole closed segments are cleaned, once they are replicated and recorded as durable, and
//! their indexes are written; offsets, timestamps and order of the remaining records never change.
//! A crash at any moment leaves the old segments or the new one, so no key ever loses its last
//! value.

mod candidate;
mod cleaning;
mod dirty;
mod offset_map;
mod pass;
mod survivors;

pub(crate) use candidate::{Bounds, Candidate, Effort};
pub(crate) use pass::{Pass, compact};

#[cfg(test)]
mod compaction_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod emptied_tests;
#[cfg(test)]
mod gaps_tests;
#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod world_tests;
