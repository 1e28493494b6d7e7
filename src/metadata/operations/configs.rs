//! Changing settings of topics and brokers while they run.

use std::sync::Arc;

use crate::config::{ConfigError, Fault};
use crate::metadata::image::Configs;
use crate::metadata::layout::Place;
use crate::metadata::operations::attempts::Attempts;
use crate::metadata::store::Op;
use crate::metadata::values::{ConfigValue, decode, encode};
use crate::metadata::{Metadata, MetadataError};
use crate::types::{BrokerId, TopicName};

/// Judges all settings of a topic or broker as they would be, given as they are; those of a new
/// topic are `None`. What settings mean is known to the layer that obeys them.
pub type ConfigCheck<'a> =
    dyn Fn(Option<&Configs>, &Configs) -> Result<(), ConfigError> + Sync + 'a;

/// What is known elsewhere of the settings to change.
#[derive(Clone, Copy)]
pub struct ConfigRules<'a> {
    /// Judges the result.
    pub check: &'a ConfigCheck<'a>,
    /// The value a list has where it is not set; `None` for what is no list.
    pub inherited_list: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// Whose settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigTarget {
    /// A topic's.
    Topic(TopicName),
    /// One broker's, or with `None` all brokers'.
    Broker(Option<BrokerId>),
}

/// One step of a change. Steps are done in order, each on the result of those before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigEdit {
    /// All settings get their inherited values.
    Clear,
    /// The setting gets this value.
    Set(String, String),
    /// The setting gets its inherited value.
    Delete(String),
    /// The list gets these words, but for those it has.
    Append(String, String),
    /// The list loses these words.
    Subtract(String, String),
}

impl Metadata {
    /// Changes settings, all or none.
    ///
    /// # Errors
    /// `InvalidConfig` with everything that is wrong, `UnknownTopic`.
    pub async fn edit_configs(
        &self,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<(), MetadataError> {
        let mut attempts = Attempts::default();
        loop {
            let ops = self.edited_configs(target, edits, rules).await?;
            match self.execute(ops).await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(error)?,
            }
        }
    }

    /// Whether settings could be changed so.
    ///
    /// # Errors
    /// Those of [`Metadata::edit_configs`].
    pub async fn check_config_edits(
        &self,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<(), MetadataError> {
        self.edited_configs(target, edits, rules).await.map(drop)
    }

    async fn edited_configs(
        &self,
        target: &ConfigTarget,
        edits: &[ConfigEdit],
        rules: ConfigRules<'_>,
    ) -> Result<Vec<Op>, MetadataError> {
        let mut ops = Vec::new();
        let path = match target {
            ConfigTarget::Broker(id) => Place::BrokerConfig(*id).to_string(),
            ConfigTarget::Topic(name) => {
                ops.push(self.topic_check(name).await?);
                Place::TopicConfig(name.clone()).to_string()
            }
        };
        let node = self.store.get(&path).await?;
        let mut value = match &node {
            Some(node) => decode::<ConfigValue>(&node.value)
                .map_err(|reason| MetadataError::malformed(&path, reason))?,
            None => ConfigValue::new(Configs::new()),
        };
        let edited = edited(&value.config, edits, rules.inherited_list)?;
        (rules.check)(Some(&value.config), &edited)?;
        value.config = edited;
        ops.push(match node {
            Some(node) => Op::set(path, encode(&value), node.version),
            None => Op::create(path, encode(&value)),
        });
        Ok(ops)
    }

    /// The check that the topic is still there.
    async fn topic_check(&self, name: &TopicName) -> Result<Op, MetadataError> {
        let path = Place::Topic(name.clone()).to_string();
        let image = Arc::clone(&self.image().borrow());
        let node = match image.topic(name) {
            Some(_) => self.store.get(&path).await?,
            None => None,
        };
        let gone = || MetadataError::UnknownTopic(name.to_string());
        node.map(|node| Op::check(path, node.version)).ok_or_else(gone)
    }
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
    fn edits_are_done_in_order_and_lists_begin_with_what_they_inherit() {
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
