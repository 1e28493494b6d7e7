//! Changing the settings of topics and brokers at runtime.

use std::sync::Arc;

use crate::config::{ConfigError, Fault};
use crate::metadata::image::Configs;
use crate::metadata::layout::{NodePath, broker_config_name};
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::problems::BROKER_CONFIGS_REMEDY;
use crate::metadata::store::{Op, Store};
use crate::metadata::values::{BrokerConfigsValue, ConfigValue, TopicValue, decode, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, TopicName};

/// The fault of a node with settings that must exist.
const DELETED: &str = "it was deleted by hand; restore it first, or replace all of its settings";

/// Validates the complete new settings of a topic or broker, given the old ones, which are `None`
/// for a new topic. The layer that applies the settings provides the check.
pub type ConfigCheck<'a> =
    dyn Fn(Option<&Configs>, &Configs) -> Result<(), ConfigError> + Sync + 'a;

/// The rules that other layers provide for a change of settings.
#[derive(Clone, Copy)]
pub struct ConfigRules<'a> {
    /// Validates the result.
    pub check: &'a ConfigCheck<'a>,
    /// The inherited value of a list setting; `None` for settings that are not lists.
    pub inherited_list: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// The owner of the settings to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigTarget {
    /// A topic.
    Topic(TopicName),
    /// A broker, or with `None` the defaults of all brokers.
    Broker(Option<BrokerId>),
}

/// One step of a change. Steps are applied in order, each to the result of the steps before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigEdit {
    /// Resets all settings to their inherited values.
    Clear,
    /// Sets the setting to this value.
    Set(String, String),
    /// Resets the setting to its inherited value.
    Delete(String),
    /// Appends these words to the list, unless it has them.
    Append(String, String),
    /// Removes these words from the list.
    Subtract(String, String),
}

impl Metadata {
    /// Changes settings atomically.
    ///
    /// # Errors
    /// `InvalidConfig` with all faults, `UnknownTopic`.
    pub async fn edit_configs(
        &self,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<(), MetadataError> {
        let mut attempts = Attempts::default();
        loop {
            let store = self.store();
            let ops = self.edited_configs(&*store, target, edits, rules).await?;
            match self.execute(&*store, ops).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// Checks whether the settings could be changed like this.
    ///
    /// # Errors
    /// Those of [`Metadata::edit_configs`].
    pub async fn check_config_edits(
        &self,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<(), MetadataError> {
        self.edited_configs(&*self.store(), target, edits, rules).await.map(drop)
    }

    async fn edited_configs(
        &self,
        store: &dyn Store,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<Vec<Op>, MetadataError> {
        let path = match target {
            ConfigTarget::Broker(id) => NodePath::BrokerConfig(*id),
            ConfigTarget::Topic(name) => NodePath::TopicConfig(name.clone()),
        };
        let path = path.to_string();
        let owner = match target {
            ConfigTarget::Broker(id) => self.noted_child(store, *id).await?,
            ConfigTarget::Topic(name) => self.noted_settings(store, name).await?,
        };
        // Read last: a node that its owner knows of is missing only if it was deleted.
        let node = store.get(&path).await?;
        let mut value = match &node {
            Some(node) => decode::<ConfigValue>(&node.value)
                .map_err(|reason| MetadataError::malformed(&path, reason))?,
            // All settings were deleted by hand: an edit of some would bury the others.
            None if owner.has_settings && edits.first() != Some(&ConfigEdit::Clear) => {
                return Err(MetadataError::Malformed { path, reason: DELETED.to_owned() });
            }
            None => ConfigValue::new(Configs::new()),
        };
        let edited = edited(&value.config, edits, rules.inherited_list)?;
        (rules.check)(Some(&value.config), &edited)?;
        value.config = edited;
        let write = match node {
            Some(node) => Op::set(path, encode(&value), node.version),
            None => Op::create(path, encode(&value)),
        };
        // First, so that nobody sees an owner that knows of a node which is not there.
        Ok(std::iter::once(write).chain(owner.ops).collect())
    }

    /// Notes in the topic's node that its settings have one, or checks that the topic still exists.
    async fn noted_settings(
        &self,
        store: &dyn Store,
        name: &TopicName,
    ) -> Result<Owner, MetadataError> {
        let path = NodePath::Topic(name.clone()).to_string();
        let image = Arc::clone(&self.image().borrow());
        let node = match image.topic(name) {
            Some(_) => store.get(&path).await?,
            None => None,
        };
        let Some(node) = node else { return Err(MetadataError::UnknownTopic(name.to_string())) };
        let unreadable = |reason| MetadataError::malformed(&path, reason);
        let mut value: TopicValue = decode(&node.value).map_err(unreadable)?;
        let has_settings = std::mem::replace(&mut value.has_config, true);
        let op = if has_settings {
            Op::check(path, node.version)
        } else {
            Op::set(path, encode(&value), node.version)
        };
        Ok(Owner { ops: vec![op], has_settings })
    }

    /// Notes that a broker, or with `None` all brokers, have a node with their settings.
    async fn noted_child(
        &self,
        store: &dyn Store,
        broker: Option<BrokerId>,
    ) -> Result<Owner, MetadataError> {
        let path = NodePath::BrokerConfigs.to_string();
        let Some(node) = store.get(&path).await? else {
            let reason = format!("it was deleted by hand; {BROKER_CONFIGS_REMEDY}");
            return Err(MetadataError::Malformed { path, reason });
        };
        let unreadable = |reason| MetadataError::malformed(&path, reason);
        let mut value = BrokerConfigsValue::of(&node.value).map_err(unreadable)?;
        let has_settings = !value.children.insert(broker_config_name(broker));
        let set = || Op::set(path.clone(), encode(&value), node.version);
        let ops = if has_settings { Vec::new() } else { vec![set()] };
        Ok(Owner { ops, has_settings })
    }
}

/// The topic or the brokers that settings belong to.
struct Owner {
    /// The operations by which it knows of the node with its settings.
    ops: Vec<Op>,
    /// True if it had that node before.
    has_settings: bool,
}

fn edited(
    before: &Configs,
    edits: &[ConfigEdit],
    inherited_list: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Configs, ConfigError> {
    let mut configs = before.clone();
    let mut faults = Vec::new();
    for edit in edits {
        match edit {
            ConfigEdit::Clear => configs.clear(),
            ConfigEdit::Set(name, value) => drop(configs.insert(name.clone(), value.clone())),
            ConfigEdit::Delete(name) => drop(configs.remove(name)),
            ConfigEdit::Append(name, words) | ConfigEdit::Subtract(name, words) => {
                let Some(inherited) = inherited_list(name) else {
                    let reason = "only lists can be appended to or subtracted from".to_owned();
                    faults.push(Fault { key: name.clone(), reason });
                    continue;
                };
                let list = configs.entry(name.clone()).or_insert(inherited);
                *list = match edit {
                    ConfigEdit::Append(..) => appended(list, words),
                    _ => subtracted(list, words),
                };
            }
        }
    }
    ConfigError::from_faults(faults).map(|()| configs)
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty())
}

fn appended(list: &str, added: &str) -> String {
    let mut result: Vec<&str> = words(list).collect();
    for word in words(added) {
        if !result.contains(&word) {
            result.push(word);
        }
    }
    result.join(",")
}

fn subtracted(list: &str, removed: &str) -> String {
    let kept = words(list).filter(|word| !words(removed).any(|gone| gone == *word));
    kept.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(edits: &[ConfigEdit]) -> Result<String, ConfigError> {
        let before = Configs::from([("a".to_owned(), "1".to_owned())]);
        let inherited = |name: &str| (name == "cleanup.policy").then(|| "delete".to_owned());
        let configs = edited(&before, edits, &inherited)?;
        let settings = configs.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(settings.collect::<Vec<_>>().join(";"))
    }

    #[test]
    fn edits_are_done_in_order_and_lists_start_from_their_inherited_value() {
        let (name, value) = (|| "cleanup.policy".to_owned(), str::to_owned);
        let append = ConfigEdit::Append(name(), value("compact,delete"));
        assert_eq!(
            text(std::slice::from_ref(&append)).unwrap(),
            "a=1;cleanup.policy=delete,compact"
        );
        let subtract = ConfigEdit::Subtract(name(), value("delete"));
        assert_eq!(text(&[append, subtract]).unwrap(), "a=1;cleanup.policy=compact");
        let set = ConfigEdit::Set(value("b"), value("2"));
        assert_eq!(text(&[set.clone(), ConfigEdit::Delete(value("a"))]).unwrap(), "b=2");
        assert_eq!(text(&[ConfigEdit::Clear, set]).unwrap(), "b=2");
        let error = text(&[ConfigEdit::Append(value("a"), value("2"))]).unwrap_err();
        assert_eq!(error.faults[0].key, "a");
    }
}
