//! The hand-overs of partitions that this broker leads: all of them when it stops, and those whose
//! preferred leaders have returned, or that have damage in the way of their readers.

mod damaged_leaders;
mod elections;
mod moves;
mod preferred_leaders;
mod resignation;

pub(in crate::replica_manager) use damaged_leaders::DamagedLeaders;
pub(crate) use elections::Elections;
pub(in crate::replica_manager) use preferred_leaders::PreferredLeaders;
pub(crate) use resignation::resign;
