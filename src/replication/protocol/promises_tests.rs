//! The answers that clients were given, and the invariants that follow from them.

use std::collections::BTreeMap;

use super::Rules;
use super::broker_tests::{Broker, Produced, Record, Role, index};
use crate::metadata::{Incarnation, IsrMember};
use crate::replication::cluster_tests::{Node, place};

/// The answers that clients were given.
#[derive(Debug, Default)]
pub(super) struct Promises {
    exposed: Vec<Record>,
    acknowledged: Vec<Produced>,
}

impl Promises {
    /// Lets all leaders show records to consumers and answer producers.
    pub(super) fn settle(&mut self, brokers: &mut [Broker], rules: Rules) -> Option<&'static str> {
        for broker in brokers {
            let Role::Leader(leader) = &broker.role else { continue };
            let end = index(leader.high_watermark()).min(broker.log.records.len());
            if leader.is_readable() {
                for (at, record) in broker.log.records[..end].iter().enumerate() {
                    match self.exposed.get(at) {
                        None => self.exposed.push(*record),
                        Some(shown) if shown != record => return Some("I13"),
                        Some(_) => {}
                    }
                }
            }
            let has_minimum = leader.in_sync().has_minimum();
            for produced in std::mem::take(&mut broker.produced) {
                if !rules.may_acknowledge(produced.record.epoch, broker.epoch) {
                    continue;
                }
                if produced.offset < end && has_minimum {
                    self.acknowledged.push(produced);
                } else {
                    broker.produced.push(produced);
                }
            }
        }
        None
    }

    /// The number of records that were acknowledged to producers.
    pub(super) fn acknowledged(&self) -> u32 {
        u32::try_from(self.acknowledged.len()).unwrap()
    }

    /// The first invariant that does not hold.
    pub(super) fn violation(
        &self,
        brokers: &[Broker],
        node: &Node,
        directories: &BTreeMap<Incarnation, u32>,
    ) -> Option<&'static str> {
        let shown = &self.exposed;
        for broker in brokers.iter().filter(|broker| broker.epoch == node.epoch) {
            let Role::Leader(leader) = &broker.role else { continue };
            let has = |p: &Produced| broker.log.records.get(p.offset) == Some(&p.record);
            if !self.acknowledged.iter().all(has) {
                return Some("I12");
            }
            if !broker.log.records.starts_with(shown) {
                return Some("I13");
            }
            if leader.is_readable() && index(leader.high_watermark()) < shown.len() {
                return Some("I14");
            }
        }
        let holds = |member: &IsrMember| {
            let broker = &brokers[place(member.broker)];
            directories[&member.incarnation] != broker.directory || broker.log.holds(shown)
        };
        if !node.members.iter().all(holds) {
            return Some("I10");
        }
        if !node.eligible.iter().all(holds) {
            return Some("I32");
        }
        disagreement(brokers)
    }
}

/// Invariants I11 and I33 of `ablation_tests.rs`: logs agree below their watermarks, and wherever
/// they have the same epoch.
fn disagreement(brokers: &[Broker]) -> Option<&'static str> {
    for (number, one) in brokers.iter().enumerate() {
        for other in &brokers[..number] {
            let end = index(one.high_watermark.min(other.high_watermark));
            let pairs = one.log.records.iter().zip(&other.log.records).enumerate();
            for (at, (first, second)) in pairs {
                if first != second && at < end {
                    return Some("I11");
                }
                if first != second && first.epoch == second.epoch {
                    return Some("I33");
                }
            }
        }
    }
    None
}
