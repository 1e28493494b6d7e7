//! Skipping damage: an operator gives up the offsets of damaged stretches so that readers continue.
//!
//! Nothing is skipped automatically. The damaged bytes are copied to `quarantine/`, the decision is
//! written to the audit log, and only then do readers pass over the offsets. Only the damaged
//! stretches in a range are skipped, so sound records stay readable. A range that cuts through a
//! stretch, or holds no damage, is refused.

mod audit;
mod copy;
mod log_damage;
mod skip_error;

pub(in crate::storage) use audit::{AuditLog, flaw as audit_flaw};
pub use log_damage::{DamagedStretch, LogDamage, SkippedStretch};
pub use skip_error::SkipError;

#[cfg(test)]
mod skipping_tests;
