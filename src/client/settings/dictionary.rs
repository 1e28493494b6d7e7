//! A dictionary of settings, applied to a client and its producers and consumers.

use super::foreign::{self, ForeignSetting};
use crate::client::{ClientConfig, ConsumerConfig, ProducerConfig};
use crate::config::{ConfigError, Fault, Settings};

/// The settings of a client, its producers and its consumers.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// Connection settings.
    pub client: ClientConfig,
    /// Producer settings.
    pub producer: ProducerConfig,
    /// Consumer settings.
    pub consumer: ConsumerConfig,
}

/// The object that a dictionary of settings is passed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A client: its own settings, and defaults of its producers and consumers.
    Client,
    /// A producer of a client.
    Producer,
    /// A consumer of a client.
    Consumer,
}

impl Scope {
    /// The call that accepts settings of this scope.
    const fn place(self) -> &'static str {
        match self {
            Self::Client => "connect(config=...)",
            Self::Producer => "client.producer(config=...)",
            Self::Consumer => "client.consumer(config=...)",
        }
    }
}

impl ClientSettings {
    /// Applies `values` in order and collects all faults by key.
    ///
    /// # Errors
    /// If a name is unknown (the error names the most similar one) or a value is invalid.
    pub fn set_all<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        self.set_in(Scope::Client, values)
    }

    /// Applies `values` to the object of `scope`. Other clients' names for the same settings and
    /// names with underscores are accepted. A setting of the client may be repeated for a producer
    /// or a consumer if the value is the same.
    ///
    /// # Errors
    /// If a setting belongs to another object, is not supported or is unknown, or its value is
    /// invalid.
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
            Some(Found::Foreign(ForeignSetting::Alias(meant))) => self.set_one(scope, meant, value),
            Some(Found::Foreign(ForeignSetting::Fixed(values, _)))
                if values.iter().any(|fixed| fixed.eq_ignore_ascii_case(value.trim())) =>
            {
                Ok(())
            }
            Some(Found::Foreign(ForeignSetting::Fixed(values, reason))) => {
                let reason = format!("'{value}': {reason}; here it is {}", values.join(" or "));
                Err(Fault { key: name.to_owned(), reason })
            }
            Some(Found::Foreign(ForeignSetting::Refused(reason))) => {
                Err(Fault { key: name.to_owned(), reason: reason.to_owned() })
            }
            None => Err(Fault::unknown(name, Self::names())),
        }
    }

    /// Sets the setting called `name`.
    fn apply(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.client
            .set_named(name, value)
            .or_else(|| self.producer.set_named(name, value))
            .or_else(|| self.consumer.set_named(name, value))
            .unwrap_or_else(|| Err(Fault::unknown(name, Self::names())))
    }

    /// Fails if `value` differs from the value that the client has for this setting.
    fn check_same(&self, name: &str, value: &str) -> Result<(), Fault> {
        let mut other = self.clone();
        other.apply(name, value)?;
        let shown = |settings: &Self| {
            let key = ClientConfig::KEYS.iter().find(|key| key.name() == name);
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

    /// Returns every setting's name and value, in the form that [`set_all`](Self::set_all) accepts.
    /// The exception is a partitioner function of the application: its value is `custom`, which no
    /// dictionary can set.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, String)> {
        let client = self.client.values().into_iter().chain(self.producer.values());
        // The settings of clients have no synonyms, so there are as many names as values.
        Self::names().zip(client.chain(self.consumer.values()))
    }

    /// Returns the name of every setting.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ClientConfig::names().chain(ProducerConfig::names()).chain(ConsumerConfig::names())
    }
}

/// The result of looking up a setting by name.
enum Found {
    /// A setting of this client, with the object that it belongs to.
    Own(Scope),
    /// A setting of another client.
    Foreign(ForeignSetting),
}

fn find(name: &str) -> Option<Found> {
    if ClientConfig::definition(name).is_some() {
        Some(Found::Own(Scope::Client))
    } else if ProducerConfig::definition(name).is_some() {
        Some(Found::Own(Scope::Producer))
    } else if ConsumerConfig::definition(name).is_some() {
        Some(Found::Own(Scope::Consumer))
    } else {
        foreign::find(name).map(Found::Foreign)
    }
}
