//! The difference between two images.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::metadata::image::{Image, Topic};
use crate::types::{BrokerId, TopicName};

/// The difference between an older and a newer image, reduced to the changes that a broker acts on.
/// A topic that was deleted and recreated under its name is both removed and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// New topics, in their new state.
    pub added: Vec<Arc<Topic>>,
    /// Deleted topics, in their last state.
    pub removed: Vec<Arc<Topic>>,
    /// Topics that have changed, for example a leader, an in-sync set, a setting or the number of
    /// partitions, in their new state.
    pub changed: Vec<Arc<Topic>>,
    /// Brokers that registered or disappeared.
    pub brokers: Vec<BrokerId>,
    /// Brokers with changed settings; `None` stands for the defaults of all brokers.
    pub broker_configs: Vec<Option<BrokerId>>,
    /// True if the controller, a tombstone, a session, or the last known registration of a broker
    /// has changed.
    pub others: bool,
}

impl Delta {
    /// Computes the difference from `old` to `new`.
    pub fn between(old: &Image, new: &Image) -> Self {
        let mut delta = Self {
            brokers: differing(&old.brokers, &new.brokers),
            broker_configs: differing(&old.broker_configs, &new.broker_configs),
            others: old.controller != new.controller
                || old.tombstones != new.tombstones
                || old.deleted != new.deleted
                || old.known_brokers != new.known_brokers
                || old.sessions != new.sessions,
            ..Self::default()
        };
        let has_inherited = |image: &Image| {
            (image.has_lost_broker_configs, Arc::clone(&image.expected_broker_configs))
        };
        if has_inherited(old) != has_inherited(new) && !delta.broker_configs.contains(&None) {
            // Settings may be missing that were never seen.
            delta.broker_configs.insert(0, None);
        }
        let names: Vec<TopicName> = differing(&old.topics, &new.topics);
        for name in names {
            match (old.topics.get(&name), new.topics.get(&name)) {
                (Some(before), Some(after)) if before.id == after.id => {
                    delta.changed.push(Arc::clone(after));
                }
                (before, after) => {
                    delta.removed.extend(before.cloned());
                    delta.added.extend(after.cloned());
                }
            }
        }
        delta
    }

    /// True if the images do not differ in anything that a broker acts on.
    #[cfg(any(test, feature = "internals"))]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The keys whose values differ. Shared values are not compared.
fn differing<K: Ord + Clone, V: PartialEq>(
    old: &BTreeMap<K, Arc<V>>,
    new: &BTreeMap<K, Arc<V>>,
) -> Vec<K> {
    let same = |a: &Arc<V>, b: &Arc<V>| Arc::ptr_eq(a, b) || a == b;
    let gone = old.keys().filter(|key| !new.contains_key(key));
    let other = new.iter().filter(|(key, value)| !old.get(key).is_some_and(|o| same(o, value)));
    let mut keys: Vec<K> = gone.chain(other.map(|(key, _)| key)).cloned().collect();
    keys.sort();
    keys
}
