//! The facts, for the stores that live in a process.

use std::path::Path;
use std::sync::Arc;

use streamlog::io::{MemoryDisk, SystemClock};
use streamlog::metadata::{
    EmbeddedStore, Event, Lost, MemoryStore, Op, SessionError, Store, StoreError,
};

use super::{facts, members};

#[tokio::test]
async fn every_fact_holds_for_the_embedded_store() {
    facts::hold_for(async |_| {
        let disk = Arc::new(MemoryDisk::default());
        EmbeddedStore::open(disk, Path::new("/data/metadata")).unwrap()
    })
    .await;
}

#[tokio::test]
async fn every_fact_holds_for_the_store_in_memory() {
    facts::hold_for(async |_| MemoryStore::new(Arc::new(SystemClock))).await;
}

#[tokio::test]
async fn brokers_share_partitions_on_each_store_in_the_process() {
    let disk = Arc::new(MemoryDisk::default());
    let embedded = EmbeddedStore::open(disk, Path::new("/data/metadata")).unwrap();
    members::leaders_and_in_sync_sets_hold_for(Arc::new(embedded)).await;
    let memory = MemoryStore::new(Arc::new(SystemClock));
    members::leaders_and_in_sync_sets_hold_for(Arc::new(memory)).await;
}

#[tokio::test]
async fn a_session_that_is_cut_off_is_not_expired_until_the_store_says_so() {
    let store = MemoryStore::new(Arc::new(SystemClock));
    let other = store.another();
    store.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
    let watch = store.watch(&["/"]).await.unwrap();
    let heard = store.last_heard();
    store.disconnect();
    other.multi(vec![Op::create("/a", "")]).await.unwrap();
    assert_eq!(watch.next().await, Event::SessionLost);
    assert_eq!(watch.try_next(), None);
    let error = store.get("/a").await.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::Unreachable { .. })), "{error}");
    assert_eq!(store.last_heard(), heard);
    store.reconnect();
    assert_eq!(watch.next().await, Event::Resync);
    assert!(store.get("/a").await.unwrap().is_some());

    store.disconnect();
    store.expire();
    assert_eq!(other.get("/e").await.unwrap(), None);
    assert_eq!(watch.next().await, Event::SessionLost);
    assert_eq!(watch.try_next(), None, "nobody can have said so yet");
    store.reconnect();
    assert_eq!(watch.next().await, Event::SessionExpired);
    let error = store.get("/a").await.unwrap_err();
    assert!(matches!(error, StoreError::Session(SessionError::Expired(_))), "{error}");
}

#[tokio::test]
async fn a_lost_message_leaves_the_outcome_open_and_a_read_shows_it() {
    for (lost, is_there) in [(Lost::Request, false), (Lost::Response, true)] {
        let store = MemoryStore::new(Arc::new(SystemClock));
        store.lose(lost);
        let error = store.multi(vec![Op::create("/a", "")]).await.unwrap_err();
        assert!(matches!(error, StoreError::Session(SessionError::OutcomeUnknown)), "{error}");
        assert_eq!(store.get("/a").await.unwrap().is_some(), is_there);
    }
}
