//! One setting, with every place where it is said.

use std::borrow::Cow;

use crate::config::{Key, Kind};

/// Where a value was said, the place that counts most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Of the topic.
    Topic,
    /// Of this broker while it ran.
    DynamicBroker,
    /// Of all brokers while they ran.
    DynamicAllBrokers,
    /// In the configuration with which this broker was started.
    StaticBroker,
    /// Nowhere.
    Default,
}

/// A value, and where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// Where.
    pub(crate) source: Source,
    /// By which name: brokers have other names for some settings of topics.
    pub(crate) name: &'static str,
    /// The value as it is written; there are settings without one.
    pub(crate) text: Option<String>,
}

/// A setting as it is in force.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) about: Cow<'static, str>,
    /// The type of its value.
    pub(crate) kind: Kind,
    /// Whether it cannot be changed while the broker runs.
    pub(crate) is_fixed: bool,
    /// The values, never none, the one in force first.
    pub(crate) values: Vec<Value>,
}

impl Setting {
    /// The value in force.
    pub(crate) fn in_force(&self) -> &Value {
        // The default always stands last.
        &self.values[0]
    }
}

/// What a configuration that is read at the start says, against what it says when nobody has
/// written anything into it.
pub(super) fn fixed<C>(keys: &'static [Key<C>], now: &C, initial: &C) -> Vec<Setting> {
    let setting = |key: &Key<C>| {
        let (value, default) = ((key.get)(now), (key.get)(initial));
        Setting {
            name: key.name,
            about: Cow::Borrowed(key.about),
            kind: key.kind,
            is_fixed: true,
            values: said_at_start(key.name, value, default),
        }
    };
    keys.iter().map(setting).collect()
}

/// The values of a setting that only the configuration of a broker speaks of.
pub(super) fn said_at_start(name: &'static str, value: String, default: String) -> Vec<Value> {
    let mut values = Vec::with_capacity(2);
    if value != default {
        values.push(Value { source: Source::StaticBroker, name, text: Some(value) });
    }
    values.push(Value { source: Source::Default, name, text: Some(default) });
    values
}
