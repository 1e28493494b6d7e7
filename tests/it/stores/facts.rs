//! The contract of stores. Each fact is a function of a new store; every implementation is tested
//! against all of them.

use std::pin::Pin;

use streamlog::metadata::{
    CreateMode, Event, Node, Op, OpResult, SessionError, Store, StoreError, Watch, validate_path,
};

type Fact = fn(&dyn Store) -> Pin<Box<dyn Future<Output = ()> + '_>>;

macro_rules! facts {
    ($($fact:ident),* $(,)?) => {
        const FACTS: &[(&str, Fact)] = &[$((stringify!($fact), |store| Box::pin($fact(store)))),*];
    };
}

facts![
    a_node_is_read_as_it_was_written,
    a_write_needs_the_version_that_is_there,
    no_version_below_zero_matches,
    a_node_needs_a_parent_and_a_parent_keeps_until_it_is_empty,
    a_multi_is_done_whole_or_not_at_all,
    operations_of_a_multi_see_those_before_them,
    sequential_nodes_never_get_a_number_twice,
    a_node_created_again_has_a_later_birth,
    children_and_snapshots_keep_to_their_subtree,
    many_nodes_are_read_at_once_in_the_order_of_their_paths,
    a_watcher_hears_of_writes_and_reads_them,
    a_watch_covers_the_subtrees_that_it_names_and_no_others,
    an_ephemeral_node_has_no_children,
    ephemeral_nodes_belong_to_their_session_and_end_with_it,
    an_ephemeral_node_may_be_deleted_by_another_session,
    a_closed_session_refuses_every_call,
    a_store_that_answers_was_heard,
    paths_and_sizes_have_limits,
];

/// Tests all facts, each on a new store; the output names the one that does not hold.
pub(crate) async fn hold_for<S: Store>(fresh: impl AsyncFn(&str) -> S) {
    for (name, fact) in FACTS {
        eprintln!("{name}");
        fact(&fresh(name).await).await;
    }
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
    let watch = store.watch(&["/a"]).await.unwrap();
    create(store, "/b").await;
    create(store, "/a/x").await;
    store.multi(vec![Op::set("/a/x", "new", 0)]).await.unwrap();
    let told = told_until(&watch, "/a/x").await;
    assert!(!told.contains(&"/b".to_owned()), "{told:?}");
    assert_eq!(store.get("/a/x").await.unwrap().unwrap().value, "new");
}

/// The paths that a watch reports, until it has reported this one.
async fn told_until(watch: &Watch, path: &str) -> Vec<String> {
    let mut told = Vec::new();
    while !told.iter().any(|one| one == path) {
        match watch.next().await {
            Event::Changed(paths) => told.extend(paths),
            event => panic!("{event:?}"),
        }
    }
    told
}

async fn a_watch_covers_the_subtrees_that_it_names_and_no_others(store: &dyn Store) {
    create(store, "/a").await;
    let watch = store.watch(&["/a", "/later"]).await.unwrap();
    let other = store.new_session().await.unwrap();
    for path in ["/ab", "/a/x", "/later", "/later/y", "/end"] {
        create(&*other, path).await;
    }
    let value = other.get("/a").await.unwrap().unwrap();
    other.multi(vec![Op::set("/a", "w", value.version)]).await.unwrap();
    other.multi(vec![Op::delete("/later/y", 0)]).await.unwrap();
    create(&*other, "/a/end").await;
    let mut told = told_until(&watch, "/a/end").await;
    told.sort();
    told.dedup();
    assert_eq!(told, ["/a", "/a/end", "/a/x", "/later", "/later/y"]);
}

async fn many_nodes_are_read_at_once_in_the_order_of_their_paths(store: &dyn Store) {
    let paths: Vec<String> = (0..1200).map(|n| format!("/n{n:04}")).collect();
    for paths in paths.chunks(400) {
        let ops = paths.iter().map(|path| Op::create(path.clone(), path.clone()));
        store.multi(ops.collect()).await.unwrap();
    }
    let mut asked = vec!["/none".to_owned()];
    asked.extend(paths.iter().rev().cloned());
    let nodes = store.read(&asked).await.unwrap();
    assert_eq!(nodes.len(), asked.len());
    assert_eq!(nodes[0], None);
    for (path, node) in asked.iter().zip(nodes).skip(1) {
        assert_eq!(node.unwrap().value, path.as_bytes());
    }
    let all = store.snapshot("/").await.unwrap();
    let found = all.iter().map(|(path, _)| path).filter(|path| path.starts_with("/n"));
    assert_eq!(found.collect::<Vec<_>>(), paths.iter().collect::<Vec<_>>());
    assert_eq!(store.children("/").await.unwrap().len(), paths.len());
}

async fn no_version_below_zero_matches(store: &dyn Store) {
    create(store, "/a").await;
    for op in [Op::set("/a", "w", -1), Op::delete("/a", -1), Op::check("/a", -1)] {
        let error = refusal(store, vec![op]).await;
        assert!(matches!(error, StoreError::BadVersion { found: 0, expected: -1, .. }), "{error}");
    }
    let error = refusal(store, vec![Op::delete("/none", -1)]).await;
    assert!(matches!(error, StoreError::NoNode { .. }), "{error}");
}

async fn ephemeral_nodes_belong_to_their_session_and_end_with_it(store: &dyn Store) {
    let other = store.new_session().await.unwrap();
    assert_ne!(other.session(), store.session());
    create(store, "/a").await;
    store.multi(vec![Op::create_ephemeral("/a/ours", "")]).await.unwrap();
    other.multi(vec![Op::create_ephemeral("/a/theirs", "")]).await.unwrap();
    let owner = async |path: &str| {
        let node: Option<Node> = store.get(path).await.unwrap();
        node.unwrap().owner
    };
    assert_eq!(owner("/a").await, None);
    assert_eq!(owner("/a/ours").await, Some(store.session()));
    assert_eq!(owner("/a/theirs").await, Some(other.session()));
    let watch = store.watch(&["/a"]).await.unwrap();
    other.close().await.unwrap();
    let told = told_until(&watch, "/a/theirs").await;
    assert!(!told.contains(&"/a/ours".to_owned()), "{told:?}");
    assert_eq!(store.children("/a").await.unwrap(), ["ours"]);
}

async fn an_ephemeral_node_may_be_deleted_by_another_session(store: &dyn Store) {
    let other = store.new_session().await.unwrap();
    store.multi(vec![Op::create_ephemeral("/e", "")]).await.unwrap();
    other.multi(vec![Op::delete("/e", 0), Op::create_ephemeral("/e", "")]).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(other.get("/e").await.unwrap().unwrap().owner, Some(other.session()));
}

async fn a_closed_session_refuses_every_call(store: &dyn Store) {
    let other = store.new_session().await.unwrap();
    let watch = other.watch(&["/"]).await.unwrap();
    other.close().await.unwrap();
    let session = other.session();
    let expired = |error: StoreError| {
        let is_expired = matches!(
            error,
            StoreError::Session(SessionError::Expired(id)) if id == session
        );
        assert!(is_expired, "{error}");
    };
    expired(refusal(&*other, vec![Op::create("/a", "")]).await);
    expired(refusal(&*other, Vec::new()).await);
    expired(other.get("/").await.unwrap_err());
    expired(other.children("/").await.unwrap_err());
    expired(other.snapshot("/").await.unwrap_err());
    expired(other.watch(&["/"]).await.unwrap_err());
    while watch.next().await != Event::SessionExpired {}
    let next = other.new_session().await.unwrap();
    assert_ne!(next.session(), session);
    create(&*next, "/a").await;
}

async fn a_store_that_answers_was_heard(store: &dyn Store) {
    let before = store.last_heard();
    create(store, "/a").await;
    let after = store.last_heard();
    assert_eq!(before.is_some(), after.is_some());
    assert!(after >= before, "{after:?} is before {before:?}");
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
