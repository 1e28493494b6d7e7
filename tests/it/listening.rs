//! A broker with several listeners tells each client the address of the one it came by.

use streamlog::broker::{Broker, BrokerConfig, EngineConfig};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::{DescribeClusterRequest, MetadataRequest};

use crate::support::Connection;

fn config(dir: &tempfile::TempDir, settings: &[(&str, &str)]) -> BrokerConfig {
    let mut config =
        BrokerConfig { engine: EngineConfig::at(dir.path()), shards: 1, ..BrokerConfig::default() };
    config.set(settings.iter().copied()).unwrap();
    config
}

/// The broker address in all responses to a client connected at this address.
fn told(address: std::net::SocketAddr) -> (String, i32) {
    let mut client = Connection::open(address).unwrap();
    let all = MetadataRequest { topics: None, ..Default::default() };
    let broker = client.call(9, &all).unwrap().brokers.remove(0);
    let described = client.call(1, &DescribeClusterRequest::default()).unwrap().brokers.remove(0);
    assert_eq!((&described.host, described.port), (&broker.host, broker.port));
    let find = FindCoordinatorRequest { key: "group".to_owned(), ..Default::default() };
    let coordinator = client.call(3, &find).unwrap();
    assert_eq!((&coordinator.host, coordinator.port), (&broker.host, broker.port));
    (broker.host, broker.port)
}

#[test]
fn each_listener_has_its_own_advertised_address() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("listeners", "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,third://127.0.0.1:0"),
        ("listener.security.protocol.map", "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,THIRD:PLAINTEXT"),
        ("advertised.listeners", "OUTSIDE://public.example:19092,INSIDE://inside.example:9"),
        ("offsets.topic.num.partitions", "1"),
    ];
    let broker = Broker::start(config(&dir, &settings)).unwrap();
    let addresses = broker.addresses();
    let names: Vec<_> = addresses.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["INSIDE", "OUTSIDE", "THIRD"]);
    assert_eq!(broker.address(), addresses[0].1);
    assert_eq!(told(addresses[0].1), ("inside.example".to_owned(), 9));
    assert_eq!(told(addresses[1].1), ("public.example".to_owned(), 19_092));
    let third = addresses[2].1;
    assert_eq!(told(third), ("127.0.0.1".to_owned(), i32::from(third.port())));
    broker.stop().unwrap();
}

#[test]
fn the_limit_of_connections_counts_those_of_all_listeners() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("listeners", "A://127.0.0.1:0,B://127.0.0.1:0"), ("max.connections", "2")];
    let broker = Broker::start(config(&dir, &settings)).unwrap();
    let addresses = broker.addresses();
    let all = MetadataRequest { topics: None, ..Default::default() };
    let mut first = Connection::open(addresses[0].1).unwrap();
    let mut second = Connection::open(addresses[1].1).unwrap();
    first.call(9, &all).unwrap();
    second.call(9, &all).unwrap();
    for (_, address) in &addresses {
        let mut third = Connection::open(*address).unwrap();
        assert!(third.call(9, &all).is_err(), "a third connection was served");
    }
    first.call(9, &all).unwrap();
    broker.stop().unwrap();
}

#[test]
fn on_zookeeper_a_listener_on_every_address_of_its_machine_needs_an_advertised_one() {
    let dir = tempfile::tempdir().unwrap();
    // No server is there: the refusal comes before the first attempt to reach any.
    let zookeeper = ("zookeeper.connect", "127.0.0.1:1/streamlog");
    let config = config(&dir, &[("listeners", "0.0.0.0:0"), zookeeper]);
    let refusal = Broker::start(config).unwrap_err().to_string();
    assert!(refusal.contains("PLAINTEXT://0.0.0.0:"), "{refusal}");
    assert!(refusal.contains("--advertise HOST:PORT"), "{refusal}");
}
