//! A setting with all sources of its value.

use std::borrow::Cow;

use crate::config::Kind;

/// The source of a value, in falling order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The topic's override.
    Topic,
    /// The dynamic setting of this broker.
    DynamicBroker,
    /// The dynamic setting of all brokers.
    DynamicAllBrokers,
    /// The configuration with which this broker was started.
    StaticBroker,
    /// The built-in default.
    Default,
}

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// The source.
    pub(crate) source: Source,
    /// The name used in the source: brokers have other names for some topic settings.
    pub(crate) name: &'static str,
    /// The value as text; some settings have none.
    pub(crate) text: Option<String>,
}

/// A setting with its values.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The name.
    pub(crate) name: &'static str,
    /// The description.
    pub(crate) about: Cow<'static, str>,
    /// The type of its value.
    pub(crate) kind: Kind,
    /// True if the setting cannot be changed at runtime.
    pub(crate) is_fixed: bool,
    /// The values, at least one, the value in force first.
    pub(crate) values: Vec<Value>,
}

impl Setting {
    /// The value in force.
    pub(crate) fn in_force(&self) -> &Value {
        // The list is never empty: it ends with the default.
        &self.values[0]
    }
}

/// The values of a setting in the broker's configuration and in the defaults.
pub(super) fn static_values(name: &'static str, value: String, default: String) -> Vec<Value> {
    let mut values = Vec::with_capacity(2);
    if value != default {
        values.push(Value { source: Source::StaticBroker, name, text: Some(value) });
    }
    values.push(Value { source: Source::Default, name, text: Some(default) });
    values
}
