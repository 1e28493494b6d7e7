//! All settings of a client under Kafka's names, so that a dictionary written for another client
//! can be handed over as it is.

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

impl ClientSettings {
    /// Applies `values` in order; all faults are collected, each by its key.
    ///
    /// # Errors
    /// When a name is unknown (with the nearest known one) or a value does not fit.
    pub fn set_all<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ConfigError> {
        let mut faults = Vec::new();
        for (name, value) in values {
            let outcome = set(&mut self.client, ClientConfig::KEYS, name, value)
                .or_else(|| set(&mut self.producer, ProducerConfig::KEYS, name, value))
                .or_else(|| set(&mut self.consumer, ConsumerConfig::KEYS, name, value))
                .or_else(|| set(&mut self.consumer, GroupConfig::KEYS, name, value));
            match outcome {
                Some(Ok(())) => {}
                Some(Err(expected)) => faults.push(Fault::invalid(name, value, expected)),
                None => faults.push(Fault::unknown(name, Self::names())),
            }
        }
        ConfigError::from_faults(faults)
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

/// Sets what `name` names, if these keys have it.
fn set<C>(config: &mut C, keys: &[Key<C>], name: &str, value: &str) -> Option<Result<(), String>> {
    let key = keys.iter().find(|key| key.name == name)?;
    Some((key.set)(config, value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Acks;

    #[test]
    fn a_dictionary_for_another_client_fits() {
        let mut settings = ClientSettings::default();
        let values = [
            ("bootstrap.servers", "a:1, b"),
            ("linger.ms", "7"),
            ("acks", "1"),
            ("auto.offset.reset", "latest"),
        ];
        settings.set_all(values).unwrap();
        let bootstrap: Vec<_> = settings.client.bootstrap.iter().map(ToString::to_string).collect();
        assert_eq!(bootstrap, ["a:1", "b:9092"]);
        assert_eq!(settings.producer.linger, Duration::from_millis(7));
        assert_eq!(settings.producer.acks, Acks::Leader);
    }

    #[test]
    fn a_name_that_nobody_has_is_refused_with_the_nearest() {
        let error = ClientSettings::default().set_all([("linger.mss", "7"), ("acks", "most")]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("did you mean 'linger.ms'"), "{error}");
        assert!(error.contains("acks: 'most' does not fit"), "{error}");
    }

    #[test]
    fn every_setting_takes_back_what_it_shows() {
        let mut settings = ClientSettings::default();
        let shown = |settings: &ClientSettings| settings.values().collect::<Vec<_>>();
        let before = shown(&settings);
        settings.set_all(before.iter().map(|(name, value)| (*name, value.as_str()))).unwrap();
        assert_eq!(shown(&settings), before);
        assert_eq!(format!("{settings:?}"), format!("{:?}", ClientSettings::default()));
    }
    #[test]
    fn what_lingers_past_the_end_of_its_delivery_is_refused() {
        let mut settings = ClientSettings::default();
        settings.set_all([("linger.ms", "300"), ("delivery.timeout.ms", "300")]).unwrap();
        let error = settings.producer.validate().unwrap_err().to_string();
        assert!(error.contains("linger.ms") && error.contains("delivery.timeout.ms"), "{error}");
        settings.set_all([("delivery.timeout.ms", "301")]).unwrap();
        settings.producer.validate().unwrap();
    }
}
