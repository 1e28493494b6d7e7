//! A setting as a row of a table: its definition, setter and getter.

use std::borrow::Cow;

use crate::config::typed::unit_millis;
use crate::config::{ConfigError, Fault};

/// The type of a setting's value, as `DescribeConfigs` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// A 32-bit number.
    Int,
    /// A 64-bit number.
    Long,
    /// A fraction.
    Double,
    /// Comma-separated words.
    List,
}

impl Kind {
    /// The largest number of this type.
    pub(super) const fn largest(self) -> i64 {
        match self {
            Self::Int => i32::MAX as i64,
            _ => i64::MAX,
        }
    }
}

/// The changes that a setting allows while brokers run, named as in Kafka's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// None: the value is read at startup, or when the topic is created.
    ReadOnly,
    /// A value for one broker or for all.
    PerBroker,
    /// One value for all brokers.
    ClusterWide,
}

/// A setting as its users know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Kafka's name of the setting, or streamlog's own where Kafka has none.
    pub name: &'static str,
    /// A one-sentence description, with the unit.
    pub about: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The changes that it allows at runtime.
    pub update: UpdateMode,
    /// Other names that set it in a broker's configuration. A name that ends in a larger unit, as
    /// in `.hours`, takes its value in that unit.
    pub synonyms: &'static [&'static str],
}

impl Definition {
    /// Returns true if `name` is the name of the setting or one of its synonyms.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.synonyms.contains(&name)
    }

    /// The name under which brokers show their default of a topic's setting.
    pub fn broker_name(&self) -> &'static str {
        self.synonyms.first().unwrap_or(&self.name)
    }

    /// Every name of the setting, its own first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.synonyms.iter().copied())
    }

    /// Converts a value given under `name` to the unit of the setting.
    fn in_own_unit<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let scale = unit_millis(name) / unit_millis(self.name);
        match value.trim().parse::<u64>() {
            Ok(number) if scale > 1 => number.saturating_mul(scale).to_string().into(),
            // The setter judges all other values, such as −1, which means unlimited in every unit.
            _ => value.into(),
        }
    }
}

/// One setting of a configuration `C`.
#[derive(Clone, Copy, Debug)]
pub struct Key<C> {
    /// The setting as its users know it.
    pub definition: Definition,
    /// Parses and stores a value; the error says what was expected instead.
    pub set: fn(&mut C, &str) -> Result<(), String>,
    /// The value in the form `set` takes.
    pub get: fn(&C) -> String,
}

impl<C> Key<C> {
    /// The name of the setting.
    pub const fn name(&self) -> &'static str {
        self.definition.name
    }
}

/// Applies `values` in order and collects all faults, each under its key. Synonyms are not
/// accepted: they belong to the configuration of a broker.
///
/// # Errors
/// If a name is unknown (the nearest known name is suggested) or a value is not valid.
pub fn set_all<'a, C>(
    config: &mut C,
    keys: &[Key<C>],
    values: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), ConfigError> {
    let mut faults = Vec::new();
    for (name, value) in values {
        let Some(key) = keys.iter().find(|key| key.name() == name) else {
            faults.push(Fault::unknown(name, keys.iter().map(Key::name)));
            continue;
        };
        if let Err(expected) = (key.set)(config, value) {
            faults.push(Fault::invalid(name, value, expected));
        }
    }
    ConfigError::from_faults(faults)
}

/// Sets the setting with this name or synonym; `None` if `keys` has none.
pub(crate) fn set_named<C>(
    config: &mut C,
    keys: &[Key<C>],
    name: &str,
    value: &str,
) -> Option<Result<(), Fault>> {
    let key = keys.iter().find(|key| key.definition.is_called(name))?;
    let converted = key.definition.in_own_unit(name, value);
    Some((key.set)(config, &converted).map_err(|wanted| Fault::invalid(name, value, wanted)))
}
