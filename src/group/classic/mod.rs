//! One group of Kafka's classic protocol, where the members' leader assigns.
//!
//! ```text
//!         first join                 all joined, or time is up
//! Empty ------------> Preparing ----------------------------> Completing
//!   ^                 |   ^   ^                                 |    |
//!   '-----------------'   |   '---------------------------------'    | assignment
//!     nobody joined       |        join, leave, death                | replicated
//!                         '----------------- Stable <----------------'
//!                         join, leave, death
//! ```
//!
//! Membership changes at once and lives in memory; the log gets a snapshot of it with every
//! assignment and whenever the group empties. Offsets change only when their record is replicated.

mod describe;
mod group;
mod join;
mod leave;
mod member;
mod offsets;
mod rebalance;
mod replacement;
#[cfg(test)]
mod replacement_tests;
mod roster;
mod session;
mod subscription;
mod sync;

pub(super) use group::Group;
pub(super) use offsets::new_offsets;
