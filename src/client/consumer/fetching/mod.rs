//! Fetching ahead: one task sends fetch requests to the leaders and queues records for callers.

mod fetcher;
#[cfg(test)]
mod fetcher_tests;
mod offset_rules;
mod order;
#[cfg(test)]
mod order_tests;
mod position_checks;
mod refusals;
mod request;

pub(super) use fetcher::Fetcher;
pub(crate) use offset_rules::OffsetRules;
pub(crate) use order::{InOrder, in_order};
pub(crate) use request::{FetchPlan, PartitionData};
