//! The contract of stores. Each fact is a function of a new store; an implementation is tested
//! against all of them by one line.

use std::path::Path;
use std::sync::Arc;

use streamlog::io::MemoryDisk;
use streamlog::metadata::{
    CreateMode, EmbeddedStore, Event, Op, OpResult, Store, StoreError, validate_path,
};

macro_rules! every_store {
    ($open:expr => $($fact:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $fact() {
                super::$fact(&$open).await;
            }
        )*
    };
}

mod embedded {
    use super::*;

    fn fresh() -> EmbeddedStore {
        let disk = Arc::new(MemoryDisk::default());
        EmbeddedStore::open(disk, Path::new("/data/metadata")).unwrap()
    }

    every_store!(fresh() =>
        a_node_is_read_as_it_was_written,
        a_write_needs_the_version_that_is_there,
        a_node_needs_a_parent_and_a_parent_keeps_until_it_is_empty,
        a_multi_is_done_whole_or_not_at_all,
        operations_of_a_multi_see_those_before_them,
        sequential_nodes_never_get_a_number_twice,
        a_node_created_again_has_a_later_birth,
        children_and_snapshots_keep_to_their_subtree,
        a_watcher_hears_of_writes_and_reads_them,
        an_ephemeral_node_has_no_children,
        paths_and_sizes_have_limits,
    );
}

async fn create(store: &dyn Store, path: &str) -> i64 {
    let results = store.multi(vec![Op::create(path, "v")]).await.unwrap();
    let [OpResult::Created { created, .. }] = results.as_slice() else { panic!("{results:?}") };
    *created
}

async fn refusal(store: &dyn Store, ops: Vec<Op>) -> StoreError {
    store.multi(ops).await.unwrap_err()
}

async fn a_node_is_read_as_it_was_written(store: &dyn Store) {
    assert_eq!(store.get("/a").await.unwrap(), None);
    let created = create(store, "/a").await;
    let node = store.get("/a").await.unwrap().unwrap();
    assert_eq!((&node.value[..], node.version, node.created), (&b"v"[..], 0, created));
    let results = store.multi(vec![Op::set("/a", "w", 0)]).await.unwrap();
    assert_eq!(results, [OpResult::Set { version: 1 }]);
    let node = store.get("/a").await.unwrap().unwrap();
    assert_eq!((&node.value[..], node.version, node.created), (&b"w"[..], 1, created));
}

async fn a_write_needs_the_version_that_is_there(store: &dyn Store) {
    create(store, "/a").await;
    for op in [Op::set("/a", "w", 1), Op::delete("/a", 1), Op::check("/a", 1)] {
        let error = refusal(store, vec![op]).await;
        assert!(matches!(error, StoreError::BadVersion { found: 0, expected: 1, .. }), "{error}");
    }
    for op in [Op::set("/b", "w", 0), Op::delete("/b", 0), Op::check("/b", 0)] {
        assert!(
            matches!(refusal(store, vec![op]).await, StoreError::NoNode { path } if path == "/b")
        );
    }
    let error = refusal(store, vec![Op::create("/a", "x")]).await;
    assert!(matches!(error, StoreError::NodeExists { path } if path == "/a"));
    store.multi(vec![Op::check("/a", 0), Op::delete("/a", 0)]).await.unwrap();
    assert_eq!(store.get("/a").await.unwrap(), None);
}

async fn a_node_needs_a_parent_and_a_parent_keeps_until_it_is_empty(store: &dyn Store) {
    let error = refusal(store, vec![Op::create("/a/b", "")]).await;
    assert!(matches!(error, StoreError::NoNode { .. }), "{error}");
    create(store, "/a").await;
    create(store, "/a/b").await;
    let error = refusal(store, vec![Op::delete("/a", 0)]).await;
    assert!(matches!(error, StoreError::NotEmpty { .. }), "{error}");
    store.multi(vec![Op::delete("/a/b", 0), Op::delete("/a", 0)]).await.unwrap();
    assert_eq!(store.children("/").await.unwrap().iter().filter(|name| *name == "a").count(), 0);
}

async fn a_multi_is_done_whole_or_not_at_all(store: &dyn Store) {
    create(store, "/a").await;
    let ops = vec![
        Op::create("/b", ""),
        Op::set("/a", "changed", 0),
        Op::create("/c", ""),
        Op::check("/a", 7),
    ];
    assert!(matches!(refusal(store, ops).await, StoreError::BadVersion { .. }));
    assert_eq!(store.get("/b").await.unwrap(), None);
    assert_eq!(store.get("/c").await.unwrap(), None);
    assert_eq!(store.get("/a").await.unwrap().unwrap().version, 0);
}

async fn operations_of_a_multi_see_those_before_them(store: &dyn Store) {
    let ops = vec![
        Op::create("/a", ""),
        Op::create("/a/b", ""),
        Op::set("/a/b", "x", 0),
        Op::check("/a/b", 1),
        Op::delete("/a/b", 1),
    ];
    store.multi(ops).await.unwrap();
    assert_eq!(store.children("/a").await.unwrap(), Vec::<String>::new());
    assert!(store.get("/a").await.unwrap().is_some());
}

async fn sequential_nodes_never_get_a_number_twice(store: &dyn Store) {
    create(store, "/q").await;
    let mut paths = Vec::new();
    for _ in 0..3 {
        let path = "/q/n-".to_owned();
        let op = Op::Create { path, value: "".into(), mode: CreateMode::Sequential };
        let results = store.multi(vec![op]).await.unwrap();
        let [OpResult::Created { path, .. }] = results.as_slice() else { panic!("{results:?}") };
        assert_eq!(path.len(), "/q/n-".len() + 10, "{path}");
        paths.push(path.clone());
        store.multi(vec![Op::delete(path.clone(), 0)]).await.unwrap();
    }
    assert!(paths.is_sorted_by(|a, b| a < b), "{paths:?}");
}

async fn a_node_created_again_has_a_later_birth(store: &dyn Store) {
    let first = create(store, "/a").await;
    store.multi(vec![Op::delete("/a", 0)]).await.unwrap();
    let second = create(store, "/a").await;
    assert!(second > first, "{second} after {first}");
}

async fn children_and_snapshots_keep_to_their_subtree(store: &dyn Store) {
    for path in ["/a", "/a/x", "/a/x/deep", "/a/y", "/a-b", "/ab"] {
        create(store, path).await;
    }
    assert_eq!(store.children("/a").await.unwrap(), ["x", "y"]);
    assert_eq!(store.children("/none").await.unwrap(), Vec::<String>::new());
    let snapshot = store.snapshot("/a").await.unwrap();
    let paths: Vec<&str> = snapshot.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/a", "/a/x", "/a/x/deep", "/a/y"]);
    let everything = store.snapshot("/").await.unwrap();
    assert!(everything.iter().any(|(path, _)| path == "/a-b"));
}

async fn a_watcher_hears_of_writes_and_reads_them(store: &dyn Store) {
    create(store, "/a").await;
    let watch = store.watch("/a");
    create(store, "/b").await;
    create(store, "/a/x").await;
    store.multi(vec![Op::set("/a/x", "new", 0)]).await.unwrap();
    let mut told = Vec::new();
    while !told.contains(&"/a/x".to_owned()) {
        match watch.next().await {
            Event::Changed(paths) => told.extend(paths),
            event => panic!("{event:?}"),
        }
    }
    assert!(!told.contains(&"/b".to_owned()), "{told:?}");
    assert_eq!(store.get("/a/x").await.unwrap().unwrap().value, "new");
}

async fn an_ephemeral_node_has_no_children(store: &dyn Store) {
    store.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
    let error = refusal(store, vec![Op::create("/e/child", "")]).await;
    assert!(matches!(error, StoreError::InvalidPath { .. }), "{error}");
    store.multi(vec![Op::delete("/e", 0)]).await.unwrap();
}

async fn paths_and_sizes_have_limits(store: &dyn Store) {
    for path in ["", "a", "/a/", "//a", "/a/../b", "/a\0", &format!("/{}", "x".repeat(2000))] {
        assert!(validate_path(path).is_err(), "{path:?}");
        let error = refusal(store, vec![Op::create(path, "")]).await;
        assert!(matches!(error, StoreError::InvalidPath { .. }), "{error}");
    }
    let error = refusal(store, vec![Op::create("/big", vec![0; 2 << 20])]).await;
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}
