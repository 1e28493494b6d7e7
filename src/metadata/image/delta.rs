//! What differs between two images.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::metadata::image::{Image, Topic};
use crate::types::{BrokerId, TopicName};

/// The difference of an older and a newer image, in no more words than are needed to act on it.
/// A topic deleted and created again under its name is removed and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Topics that are new, as they are.
    pub added: Vec<Arc<Topic>>,
    /// Topics that are there no more, as they were.
    pub removed: Vec<Arc<Topic>>,
    /// Topics with another leader, in-sync set, setting or number of partitions, as they are.
    pub changed: Vec<Arc<Topic>>,
    /// Brokers that came, went or registered anew.
    pub brokers: Vec<BrokerId>,
    /// Brokers whose settings changed; `None` is the default of all.
    pub broker_configs: Vec<Option<BrokerId>>,
    /// Whether there is another controller, or one more or less tombstone.
    pub others: bool,
}

impl Delta {
    /// What happened from `old` to `new`.
    pub fn between(old: &Image, new: &Image) -> Self {
        let mut delta = Self {
            brokers: differing(&old.brokers, &new.brokers),
            broker_configs: differing(&old.broker_configs, &new.broker_configs),
            others: old.controller != new.controller || old.tombstones != new.tombstones,
            ..Self::default()
        };
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

    /// Whether nothing differs.
    #[cfg(any(test, feature = "internals"))]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The keys whose values differ. What two images share is not looked at.
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
