//! A group with Kafka's classic protocol, in which the group leader computes the assignment.
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
//! Membership changes take effect at once and live in memory. The log gets a snapshot with every
//! assignment, when a static member is replaced in a stable group, and whenever the group becomes
//! empty. Offsets change only when their record is replicated.

mod committed_offsets;
mod current_generation;
mod describe;
mod group;
mod join;
mod leave;
mod member;
mod membership;
mod offsets;
mod rebalance;
mod replacement;
#[cfg(test)]
mod replacement_tests;
mod session;
mod subscription;
mod sync;

pub(super) use group::Group;
pub(super) use offsets::new_offsets;
