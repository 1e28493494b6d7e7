//! A dictionary of settings, applied to a client and what is made from it.

use super::elsewhere::{self, Elsewhere};
use crate::client::{ClientConfig, ConsumerConfig, GroupConfig, ProducerConfig};
use crate::config::{ConfigError, Fault, Key};

/// What a client, its producers and its consumers are set to.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// Connections.
    pub client: ClientConfig,
    /// Producers.
    pub producer: ProducerConfig,
    /// Consumers.
    pub consumer: ConsumerConfig,
}

/// The object that settings are given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A client, for itself and as defaults of its producers and consumers.
    Client,
    /// One producer of a client.
    Producer,
    /// One consumer of a client.
    Consumer,
}

impl Scope {
    /// The call that takes its settings.
    const fn place(self) -> &'static str {
        match self {
            Self::Client => "connect(config=...)",
            Self::Producer => "client.producer(config=...)",
            Self::Consumer => "client.consumer(config=...)",
        }
    }
}

impl ClientSettings {
    /// Applies `values` in order; all faults are collected, each by its key.
    ///
    /// # Errors
    /// When a name is unknown (with the nearest known one) or a value does not fit.
    pub fn set_all<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        self.set_in(Scope::Client, values)
    }

    /// Applies `values` to the object of `scope`. Names of other clients for the same settings are
    /// understood, and so are names with underscores. A setting of the whole client may be repeated
    /// for a producer or a consumer with the value that it has.
    ///
    /// # Errors
    /// When a setting belongs to another object, is not served or is unknown, or its value does not
    /// fit.
    pub fn set_in<'a>(
        &mut self,
        scope: Scope,
        values: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        for (given, value) in values {
            let dotted = given.replace('_', ".");
            let is_dotted = find(given).is_none() && find(&dotted).is_some();
            let name = if is_dotted { &dotted } else { given };
            if let Err(fault) = self.set_one(scope, name, value) {
                faults.push(Fault { key: given.to_owned(), reason: fault.reason });
            }
        }
        ConfigError::from_faults(faults)
    }

    fn set_one(&mut self, scope: Scope, name: &str, value: &str) -> Result<(), Fault> {
        match find(name) {
            Some(Found::Own(owner)) if owner == scope || scope == Scope::Client => {
                self.apply(name, value)
            }
            Some(Found::Own(Scope::Client)) => self.check_same(name, value),
            Some(Found::Own(owner)) => {
                let reason = format!("set in another place: {} takes it", owner.place());
                Err(Fault { key: name.to_owned(), reason })
            }
            Some(Found::Elsewhere(Elsewhere::Alias(meant))) => self.set_one(scope, meant, value),
            Some(Found::Elsewhere(Elsewhere::Fixed(values, _)))
                if values.iter().any(|fixed| fixed.eq_ignore_ascii_case(value.trim())) =>
            {
                Ok(())
            }
            Some(Found::Elsewhere(Elsewhere::Fixed(values, reason))) => {
                let reason = format!("'{value}': {reason}; here it is {}", values.join(" or "));
                Err(Fault { key: name.to_owned(), reason })
            }
            Some(Found::Elsewhere(Elsewhere::Refused(reason))) => {
                Err(Fault { key: name.to_owned(), reason: reason.to_owned() })
            }
            None => Err(Fault::unknown(name, Self::names())),
        }
    }

    /// Sets what `name` names.
    fn apply(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let set = set(&mut self.client, ClientConfig::KEYS, name, value)
            .or_else(|| set(&mut self.producer, ProducerConfig::KEYS, name, value))
            .or_else(|| set(&mut self.consumer, ConsumerConfig::KEYS, name, value))
            .or_else(|| set(&mut self.consumer, GroupConfig::KEYS, name, value));
        match set {
            Some(set) => set.map_err(|expected| Fault::invalid(name, value, expected)),
            None => Err(Fault::unknown(name, Self::names())),
        }
    }

    /// Fails for a setting of the client with another value than it has.
    fn check_same(&self, name: &str, value: &str) -> Result<(), Fault> {
        let mut other = self.clone();
        other.apply(name, value)?;
        let shown = |settings: &Self| {
            let key = ClientConfig::KEYS.iter().find(|key| key.name == name);
            key.map(|key| (key.get)(&settings.client)).unwrap_or_default()
        };
        let own = shown(self);
        if shown(&other) == own {
            return Ok(());
        }
        let place = Scope::Client.place();
        let reason = format!("'{value}' differs from '{own}' of the client: {place} takes it");
        Err(Fault { key: name.to_owned(), reason })
    }

    /// Every setting's name, and its value in the form that [`set_all`](Self::set_all) takes.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, String)> {
        let client = ClientConfig::KEYS.iter().map(|key| (key.name, (key.get)(&self.client)));
        let producer = ProducerConfig::KEYS.iter().map(|key| (key.name, (key.get)(&self.producer)));
        let consumer = ConsumerConfig::KEYS.iter().chain(GroupConfig::KEYS);
        let consumer = consumer.map(|key| (key.name, (key.get)(&self.consumer)));
        client.chain(producer).chain(consumer)
    }

    /// The name of every setting.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let client = ClientConfig::KEYS.iter().map(|key| key.name);
        let producer = ProducerConfig::KEYS.iter().map(|key| key.name);
        let consumer = ConsumerConfig::KEYS.iter().chain(GroupConfig::KEYS).map(|key| key.name);
        client.chain(producer).chain(consumer)
    }
}

/// A setting, by its name.
enum Found {
    /// It has a row here, and is set on such an object.
    Own(Scope),
    /// It is another client's.
    Elsewhere(Elsewhere),
}

fn find(name: &str) -> Option<Found> {
    let mut consumer = ConsumerConfig::KEYS.iter().chain(GroupConfig::KEYS);
    if ClientConfig::KEYS.iter().any(|key| key.name == name) {
        Some(Found::Own(Scope::Client))
    } else if ProducerConfig::KEYS.iter().any(|key| key.name == name) {
        Some(Found::Own(Scope::Producer))
    } else if consumer.any(|key| key.name == name) {
        Some(Found::Own(Scope::Consumer))
    } else {
        elsewhere::find(name).map(Found::Elsewhere)
    }
}

/// Sets what `name` names, if these keys have it.
fn set<C>(config: &mut C, keys: &[Key<C>], name: &str, value: &str) -> Option<Result<(), String>> {
    let key = keys.iter().find(|key| key.name == name)?;
    Some((key.set)(config, value))
}
