//! Dictionaries of settings written for other clients.

use std::sync::Arc;
use std::time::Duration;

use super::dictionary::{ClientSettings, Scope};
use crate::client::{Acks, Commit, Partitioner};

#[test]
fn a_dictionary_written_for_another_client_is_accepted() {
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
fn an_unknown_name_is_refused_with_a_suggestion() {
    let error = ClientSettings::default().set_all([("linger.mss", "7"), ("acks", "most")]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("did you mean 'linger.ms'"), "{error}");
    assert!(error.contains("acks: invalid value 'most'"), "{error}");
}

#[test]
fn every_setting_accepts_the_value_that_it_shows() {
    let mut settings = ClientSettings::default();
    let shown = |settings: &ClientSettings| settings.values().collect::<Vec<_>>();
    let before = shown(&settings);
    settings.set_all(before.iter().map(|(name, value)| (*name, value.as_str()))).unwrap();
    assert_eq!(shown(&settings), before);
    assert_eq!(format!("{settings:?}"), format!("{:?}", ClientSettings::default()));
}

#[test]
fn a_linger_as_long_as_the_delivery_timeout_is_refused() {
    let mut settings = ClientSettings::default();
    settings.set_all([("linger.ms", "300"), ("delivery.timeout.ms", "300")]).unwrap();
    let error = settings.producer.validate().unwrap_err().to_string();
    assert!(error.contains("linger.ms") && error.contains("delivery.timeout.ms"), "{error}");
    settings.set_all([("delivery.timeout.ms", "301")]).unwrap();
    settings.producer.validate().unwrap();
}

fn refusal(scope: Scope, name: &str, value: &str) -> String {
    ClientSettings::default().set_in(scope, [(name, value)]).unwrap_err().to_string()
}

#[test]
fn names_of_other_clients_are_accepted() {
    let mut settings = ClientSettings::default();
    let values = [
        ("metadata.broker.list", "a:1"),
        ("bootstrap_servers", "b:1"),
        ("queue.buffering.max.ms", "7"),
        ("security.protocol", "PLAINTEXT"),
        ("api.version.request", "true"),
        ("enable.auto.commit", "false"),
    ];
    settings.set_all(values).unwrap();
    assert_eq!(settings.client.bootstrap[0].to_string(), "b:1");
    assert_eq!(settings.producer.linger, Duration::from_millis(7));
    assert_eq!(settings.consumer.group.commit, Commit::Manual);
}

#[test]
fn an_unsupported_setting_is_refused_with_the_reason_and_not_as_unknown() {
    let refused = [
        ("security.protocol", "SASL_SSL", "not served yet: TLS and SASL"),
        ("ssl.ca.location", "/ca.pem", "not served yet: TLS"),
        ("sasl.mechanism", "PLAIN", "not served yet: SASL"),
        ("sasl_plain_username", "me", "not served yet: SASL"),
        ("transactional.id", "t", "not served yet: transactions"),
        ("isolation.level", "read_committed", "not served yet: transactions"),
        ("value_deserializer", "f", "value= of client.consumer()"),
        ("send.buffer.bytes", "1", "no counterpart"),
    ];
    for (name, value, reason) in refused {
        let error = refusal(Scope::Client, name, value);
        assert!(error.starts_with(&format!("{name}: ")), "{error}");
        assert!(error.contains(reason) && !error.contains("unknown"), "{error}");
    }
}

#[test]
fn a_setting_of_another_object_is_refused_with_the_call_that_accepts_it() {
    let error = refusal(Scope::Producer, "group.id", "g");
    assert!(error.contains("client.consumer(config=...) takes it"), "{error}");
    let error = refusal(Scope::Consumer, "linger.ms", "5");
    assert!(error.contains("client.producer(config=...) takes it"), "{error}");
    let error = refusal(Scope::Consumer, "bootstrap.servers", "elsewhere:1");
    assert!(error.contains("connect(config=...) takes it"), "{error}");
    let mut same = ClientSettings::default();
    same.set_in(Scope::Consumer, [("bootstrap.servers", "127.0.0.1:9092")]).unwrap();
}

#[test]
fn a_partitioner_of_the_application_is_not_shown_as_one_of_ours() {
    let mut settings = ClientSettings::default();
    settings.producer.partitioner = Partitioner::Own(Arc::new(|_, _, _, _| 0));
    let shown = settings.values().find(|(name, _)| *name == "partitioner");
    assert_eq!(shown, Some(("partitioner", "custom".to_owned())));
}
