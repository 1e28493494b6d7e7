//! Sessions with a real ZooKeeper: the facts of all stores, and the faults of a network.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::SystemClock;
use streamlog::metadata::{
    Digest, Event, Metadata, MetadataConfig, MetadataError, Op, SessionError, Store, StoreError,
    Watch, ZooKeeperAddress, ZooKeeperStore,
};
use streamlog::types::BrokerId;
use tokio::time::timeout;

use super::{facts, members};
use crate::support::{Proxy, ZooKeeper};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);
/// Short, so that a test can wait for its end.
const SESSION: Duration = Duration::from_secs(1);
/// The longest that the server grants, 20 of its ticks, so that a session outlives a restart.
const LONG_SESSION: Duration = Duration::from_secs(6);

async fn open(address: ZooKeeperAddress) -> ZooKeeperStore {
    open_as(address, None, SESSION).await.unwrap()
}

async fn open_as(
    address: ZooKeeperAddress,
    digest: Option<Digest>,
    session: Duration,
) -> Result<ZooKeeperStore, StoreError> {
    let clock = Arc::new(SystemClock);
    let opened = ZooKeeperStore::open(address, digest, session, clock, None);
    timeout(PATIENCE, opened).await.unwrap()
}

fn through(proxy: &Proxy) -> ZooKeeperAddress {
    format!("{}/test", proxy.address()).parse().unwrap()
}

async fn next(watch: &Watch) -> Event {
    timeout(PATIENCE, watch.next()).await.unwrap()
}

#[tokio::test]
async fn every_fact_holds_for_zookeeper() {
    let server = ZooKeeper::start();
    facts::hold_for(async |fact| open(server.tree(&format!("/facts/{fact}"))).await).await;
}

#[tokio::test]
async fn brokers_share_partitions_on_zookeeper() {
    let server = ZooKeeper::start();
    members::leaders_and_in_sync_sets_hold_for(Arc::new(open(server.tree("/test")).await)).await;
}

#[tokio::test]
async fn a_session_outlives_a_broken_connection_and_a_restart_of_the_server() {
    let mut server = ZooKeeper::start();
    let proxy = Proxy::before(server.socket());
    let store = open_as(through(&proxy), None, LONG_SESSION).await.unwrap();
    store.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
    let watch = store.watch(&["/a"]).await.unwrap();
    let other = open(server.tree("/test")).await;
    proxy.cut();
    assert_eq!(next(&watch).await, Event::SessionLost);
    other.multi(vec![Op::create("/a", "")]).await.unwrap();
    proxy.restore();
    assert_eq!(next(&watch).await, Event::Resync);
    assert!(store.get("/a").await.unwrap().is_some());
    // The watch is set on the new connection.
    other.multi(vec![Op::create("/a/x", "")]).await.unwrap();
    assert_eq!(next(&watch).await, Event::Changed(vec!["/a/x".to_owned()]));

    server.kill();
    assert_eq!(next(&watch).await, Event::SessionLost);
    let heard = store.last_heard();
    server.restart();
    assert_eq!(next(&watch).await, Event::Resync);
    assert!(store.last_heard() > heard);
    assert_eq!(store.get("/e").await.unwrap().unwrap().owner, Some(store.session()));
}

#[tokio::test]
async fn only_the_server_ends_a_session_however_long_it_is_not_heard() {
    let server = ZooKeeper::start();
    let proxy = Proxy::before(server.socket());
    let store = open(through(&proxy)).await;
    store.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
    let watch = store.watch(&["/"]).await.unwrap();
    let other = open(server.tree("/test")).await;
    let gone = other.watch(&["/e"]).await.unwrap();
    proxy.cut();
    assert_eq!(next(&watch).await, Event::SessionLost);
    let error = store.get("/e").await.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::Unreachable { .. })), "{error}");
    assert_eq!(next(&gone).await, Event::Changed(vec!["/e".to_owned()]));
    assert_eq!(watch.try_next(), None, "the server has not been heard");
    proxy.restore();
    assert_eq!(next(&watch).await, Event::SessionExpired);
    let error = store.get("/e").await.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::Expired(_))), "{error}");
    let again = store.new_session().await.unwrap();
    again.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
}

#[tokio::test]
async fn a_write_without_an_answer_is_open_and_later_reads_show_its_effect() {
    let server = ZooKeeper::start();
    let proxy = Proxy::before(server.socket());
    let store = open(through(&proxy)).await;
    proxy.lose_answers();
    let writing = store.multi(vec![Op::create("/a", "")]);
    let reading = store.get("/");
    let ((written, read), ()) = tokio::join!(async { tokio::join!(writing, reading) }, async {
        let other = open(server.tree("/test")).await;
        let created = other.watch(&["/a"]).await.unwrap();
        if other.get("/a").await.unwrap().is_none() {
            next(&created).await;
        }
        proxy.restore();
    });
    let error = written.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::OutcomeUnknown)), "{error}");
    let error = read.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::Unreachable { .. })), "{error}");
    assert!(store.get("/a").await.unwrap().is_some());
}

#[tokio::test]
async fn servers_that_are_down_are_passed_over() {
    let server = ZooKeeper::start();
    let down = "127.0.0.1:1";
    for servers in [format!("{down},{}", server.socket()), format!("{},{down}", server.socket())] {
        let store = open(format!("{servers}/deep/tree").parse().unwrap()).await;
        store.children("/").await.unwrap();
    }
    let error =
        open_as(format!("{down},{down}").parse().unwrap(), None, SESSION).await.unwrap_err();
    assert!(error.to_string().contains(down), "{error}");
    assert!(matches!(error, StoreError::Session(SessionError::Unreachable { .. })), "{error}");
}

#[tokio::test]
async fn with_a_digest_others_may_read_the_tree_but_not_change_it() {
    let server = ZooKeeper::start();
    let open = |digest: Option<&str>| {
        let digest = digest.map(|text| Digest::parse(text).unwrap());
        open_as(server.tree("/guarded"), digest, SESSION)
    };
    let owner = open(Some("broker:secret")).await.unwrap();
    owner.multi(vec![Op::create("/a", "1")]).await.unwrap();
    for digest in [None, Some("broker:guessed")] {
        let other = open(digest).await.unwrap();
        assert_eq!(other.get("/a").await.unwrap().unwrap().value, "1");
        for op in [Op::set("/a", "2", 0), Op::create("/b", ""), Op::delete("/a", 0)] {
            let error = other.multi(vec![op]).await.unwrap_err();
            assert!(matches!(error, StoreError::Session(SessionError::Denied { .. })), "{error}");
        }
    }
    let again = open(Some("broker:secret")).await.unwrap();
    again.multi(vec![Op::set("/a", "2", 0)]).await.unwrap();
}

#[tokio::test]
async fn the_tree_of_a_kafka_cluster_is_refused_and_left_alone() {
    let server = ZooKeeper::start();
    let kafka = open(server.tree("/kafka")).await;
    let ops = ["/brokers", "/brokers/ids", "/controller_epoch"].map(|path| Op::create(path, ""));
    kafka.multi(ops.to_vec()).await.unwrap();
    let store = Arc::new(open(server.tree("/kafka")).await);
    let config = MetadataConfig::default();
    let opened = Metadata::open(store, Arc::new(SystemClock), BrokerId(1), None, config).await;
    let error = opened.unwrap_err();
    assert!(matches!(error, MetadataError::ForeignStore { .. }), "{error}");
    assert_eq!(kafka.children("/").await.unwrap(), ["brokers", "controller_epoch"]);
}
