//! Brokers that cannot start say what is wrong, and what to do.

use std::fs;

use streamlog::broker::{Broker, BrokerConfig, BrokerError, EngineConfig, EngineError, Listener};
use streamlog::storage::StorageError;
use tempfile::TempDir;

fn config(data: &TempDir) -> BrokerConfig {
    BrokerConfig {
        listeners: Listener::alone("127.0.0.1", 0),
        engine: EngineConfig::at(data.path()),
        shards: 1,
        ..BrokerConfig::default()
    }
}

/// The reason for which a broker does not start.
fn refusal(config: BrokerConfig) -> BrokerError {
    Broker::start(config).err().unwrap()
}

#[test]
fn a_second_broker_on_the_same_data_is_told_who_has_it() {
    let data = TempDir::new().unwrap();
    let first = Broker::start(config(&data)).unwrap();
    let refused = refusal(config(&data));
    assert!(
        matches!(refused, BrokerError::Engine(EngineError::Storage(StorageError::Locked { .. }))),
        "{refused:?}"
    );
    let said = refused.to_string();
    let owner = format!("process {}", std::process::id());
    assert!(said.contains(&owner), "{said}");
    assert!(said.contains(&data.path().display().to_string()), "{said}");
    first.stop().unwrap();
    Broker::start(config(&data)).unwrap().stop().unwrap();
}

#[test]
fn an_unknown_setting_is_answered_with_the_nearest_name() {
    let mut config = BrokerConfig::default();
    for (mistaken, meant) in [
        ("num.partition", "num.partitions"),
        ("log.retention.hour", "log.retention.hours"),
        ("message.max.byte", "message.max.bytes"),
        ("listener", "listeners"),
        ("socket.requests.max.bytes", "socket.request.max.bytes"),
    ] {
        let said = config.set([(mistaken, "1")]).unwrap_err().to_string();
        assert!(said.contains(mistaken), "{said}");
        assert!(said.contains(&format!("did you mean '{meant}'?")), "{said}");
    }
    let said = config.set([("no.such.thing.at.all", "1")]).unwrap_err().to_string();
    assert!(said.contains("no.such.thing.at.all: unknown setting"), "{said}");
}

#[test]
fn every_mistake_in_a_configuration_is_told_at_once() {
    let rows = [("num.partition", "1"), ("num.partitions", "many"), ("broker.id", "-3")];
    let error = BrokerConfig::default().set(rows).unwrap_err();
    let keys: Vec<_> = error.faults.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(keys, ["num.partition", "num.partitions", "broker.id"]);
}

#[test]
fn a_start_that_was_refused_after_a_clean_stop_costs_no_recovery() {
    let data = TempDir::new().unwrap();
    Broker::start(config(&data)).unwrap().stop().unwrap();
    let elsewhere = TempDir::new().unwrap();
    let [manifest, journal] = ["clean-stop", "metadata"].map(|name| data.path().join(name));
    let away = elsewhere.path().join("metadata");
    assert!(manifest.is_file());
    fs::rename(&journal, &away).unwrap();
    refusal(config(&data));
    assert!(manifest.is_file(), "the next start would recover all logs");
    fs::rename(&away, &journal).unwrap();
    Broker::start(config(&data)).unwrap().stop().unwrap();
}

#[test]
fn data_of_a_later_release_is_left_alone() {
    let data = TempDir::new().unwrap();
    Broker::start(config(&data)).unwrap().stop().unwrap();
    let path = data.path().join("meta.properties");
    let text = fs::read_to_string(&path).unwrap();
    let later = text.replace("streamlog.format=1", "streamlog.format=2");
    assert_ne!(text, later);
    fs::write(&path, &later).unwrap();
    let refused = refusal(config(&data));
    assert!(
        matches!(refused, BrokerError::Engine(EngineError::Storage(StorageError::TooNew { .. }))),
        "{refused:?}"
    );
    let said = refused.to_string();
    assert!(said.contains("meta.properties") && said.contains("later release"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), later);
    fs::write(&path, text).unwrap();
    Broker::start(config(&data)).unwrap().stop().unwrap();
}

#[test]
fn a_port_in_use_is_told_with_what_to_do_and_touches_no_data() {
    let (ours, theirs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let first = Broker::start(config(&theirs)).unwrap();
    let port = first.address().port();
    let listeners = Listener::alone("127.0.0.1", port);
    let said = refusal(BrokerConfig { listeners, ..config(&ours) }).to_string();
    assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
    assert!(said.contains("--listen HOST:PORT, or port 0"), "{said}");
    assert_eq!(fs::read_dir(ours.path()).unwrap().count(), 0);
    first.stop().unwrap();
}
