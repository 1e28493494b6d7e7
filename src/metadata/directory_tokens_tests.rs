//! Data directories that prove by their tokens that they are those of the last registration.

use std::future::pending;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::timeout;

use crate::io::{Clock, ManualClock};
use crate::metadata::{
    DirectoryPlace, DirectoryTokens, KnownBroker, MemoryStore, Metadata, MetadataConfig,
    MetadataError, Op, Registration, Store, StoreError, StoreFuture,
};
use crate::types::{BrokerId, Timestamp};

const NODE: &str = "/streamlog/brokers/1";

/// The point at which a process is killed while it writes its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Never,
    BeforeWriting,
    AfterWriting,
}

/// A data directory.
#[derive(Debug)]
struct Directory {
    tokens: Mutex<Vec<String>>,
    killed: Killed,
    is_full: AtomicBool,
}

impl Directory {
    fn new(tokens: Vec<String>) -> Arc<Self> {
        Self::killed(Killed::Never, tokens)
    }

    fn killed(killed: Killed, tokens: Vec<String>) -> Arc<Self> {
        Arc::new(Self { tokens: Mutex::new(tokens), killed, is_full: AtomicBool::new(false) })
    }
}

impl DirectoryTokens for Directory {
    fn held(&self) -> Vec<String> {
        self.tokens.lock().unwrap().clone()
    }

    fn replace(&self, tokens: Vec<String>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if self.is_full.load(Ordering::Relaxed) {
                let (action, source) = ("write a token to", ErrorKind::StorageFull.into());
                return Err(StoreError::Io { action, file: PathBuf::from("tokens"), source });
            }
            if self.killed != Killed::BeforeWriting {
                *self.tokens.lock().unwrap() = tokens;
            }
            if self.killed != Killed::Never {
                pending::<()>().await;
            }
            Ok(())
        })
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

fn fresh() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(clock()))
}

async fn open(store: &Arc<MemoryStore>, directory: &Arc<Directory>) -> Metadata {
    let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(store);
    let config = MetadataConfig::default();
    let metadata = Metadata::open(store, clock(), BrokerId(1), None, config).await.unwrap();
    metadata.with_directory(Arc::<Directory>::clone(directory))
}

fn registration(id: &str) -> Registration {
    Registration {
        directory_id: Some(id.to_owned()),
        boot_id: Some("boot".to_owned()),
        place: Some(DirectoryPlace { device: 1, inode: 2 }),
        ..Registration::default()
    }
}

/// Registers on a directory and stops.
async fn run(store: &Arc<MemoryStore>, id: &str, directory: &Arc<Directory>) {
    let metadata = open(&Arc::new(store.another()), directory).await;
    metadata.register(&registration(id)).await.unwrap();
    metadata.leave().await.unwrap();
}

async fn known(store: &Arc<MemoryStore>) -> KnownBroker {
    let metadata = open(&Arc::new(store.another()), &Directory::new(Vec::new())).await;
    let image = Arc::clone(&metadata.image().borrow());
    KnownBroker::clone(image.known_broker(BrokerId(1)).unwrap())
}

#[tokio::test]
async fn a_copy_from_before_the_last_registration_is_another_disk_also_after_other_disks() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    run(&store, "one", &one).await;
    let backup = one.held();
    run(&store, "one", &one).await;
    assert!(known(&store).await.is_another_disk("one", &backup), "tried directly");
    run(&store, "two", &Directory::new(Vec::new())).await;
    let known = known(&store).await;
    assert!(known.is_another_disk("one", &backup), "tried after another disk");
    assert!(known.is_another_disk("one", &[]), "from before the first registration");
    assert!(!known.is_another_disk("one", &one.held()), "the newest one is itself");
    assert!(!known.is_another_disk("three", &[]), "a new one");
    assert!(known.is_another_disk("three", &one.held()), "forgotten");
}

#[tokio::test]
async fn the_last_directories_are_remembered() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    run(&store, "one", &one).await;
    for number in 0..40 {
        run(&store, &number.to_string(), &Directory::new(Vec::new())).await;
    }
    let known = known(&store).await;
    assert_eq!(known.tokens.len(), 32);
    assert!(known.is_another_disk("one", &one.held()), "it may be an older copy");
    assert!(!known.is_another_disk("39", &[known.tokens["39"].clone()]));
}

#[tokio::test(start_paused = true)]
async fn a_process_killed_at_any_point_of_its_registration_condemns_no_disk() {
    for killed in [Killed::BeforeWriting, Killed::AfterWriting, Killed::Never] {
        for is_new in [true, false] {
            let (store, sound) = (fresh(), Directory::new(Vec::new()));
            if !is_new {
                run(&store, "one", &sound).await;
            }
            let before = sound.held();
            let dying = Directory::killed(killed, before.clone());
            let session = Arc::new(store.another());
            let metadata = open(&session, &dying).await;
            // If it is not killed while it writes, it is before it is told that it has registered.
            session.withhold_answers();
            let registering = timeout(Duration::from_secs(1), async {
                metadata.register(&registration("one")).await
            });
            registering.await.unwrap_err();
            session.expire();

            let after = dying.held();
            let is_registered = killed == Killed::Never;
            assert_eq!(after.len(), before.len() + usize::from(killed != Killed::BeforeWriting));
            if is_registered || !is_new {
                let known = known(&store).await;
                assert!(!known.is_another_disk("one", &after), "{killed:?}");
                assert_eq!(known.is_another_disk("one", &before), is_registered, "{killed:?}");
            }
            run(&store, "one", &Directory::new(after)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_registration_has_one_token_however_often_it_is_refused() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    run(&store, "one", &one).await;
    let dead = open(&Arc::new(store.another()), &one).await;
    dead.register(&Registration { boot_id: None, ..registration("one") }).await.unwrap();
    let before = one.held();
    let next = open(&Arc::new(store.another()), &one).await;
    next.register(&registration("one")).await.unwrap_err();
    assert_eq!(one.held().len(), before.len() + 1);
    assert_eq!(one.held()[..before.len()], before);
}

#[tokio::test]
async fn a_broker_whose_directory_was_copied_and_registered_meanwhile_ends() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    let replaced = open(&store, &one).await;
    replaced.register(&registration("one")).await.unwrap();
    let copy = Directory::new(one.held());
    store.expire();
    run(&store, "one", &copy).await;
    let error = replaced.run().await;
    assert!(matches!(error, MetadataError::BrokerIdInUse { .. }), "{error}");
    let known = known(&store).await;
    assert!(known.is_another_disk("one", &one.held()));
    assert!(!known.is_another_disk("one", &copy.held()));
}

#[tokio::test]
async fn a_broker_that_cannot_register_again_for_a_full_disk_leaves_its_partitions_to_others() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    let session = Arc::new(store.another());
    let metadata = open(&session, &one).await;
    metadata.register(&registration("one")).await.unwrap();
    let (registered, goes_on) = ("/brokers/ids/1", "/streamlog/sessions/1");
    assert!(store.get(goes_on).await.unwrap().is_some());
    one.is_full.store(true, Ordering::Relaxed);
    store.multi(vec![Op::delete(registered, 0)]).await.unwrap();
    let until = async |path: &str, exists: bool| {
        while store.get(path).await.unwrap().is_some() != exists {
            yield_now().await;
        }
    };
    let waiting = async {
        until(goes_on, false).await;
        one.is_full.store(false, Ordering::Relaxed);
        until(registered, true).await;
        until(goes_on, true).await;
    };
    tokio::select! {
        error = metadata.run() => panic!("{error}"),
        waited = timeout(Duration::from_secs(20), waiting) => waited.unwrap(),
    }
}

#[tokio::test]
async fn a_node_that_is_written_again_has_the_token_of_the_registration() {
    let (store, one) = (fresh(), Directory::new(Vec::new()));
    let metadata = open(&store, &one).await;
    metadata.register(&registration("one")).await.unwrap();
    let older = one.held();
    metadata.leave().await.unwrap();
    let session = Arc::new(store.another());
    let metadata = open(&session, &one).await;
    metadata.register(&registration("one")).await.unwrap();
    let node = session.get(NODE).await.unwrap().unwrap();
    session.multi(vec![Op::delete(NODE, node.version)]).await.unwrap();
    tokio::select! {
        error = metadata.run() => panic!("{error}"),
        () = async {
            while session.get(NODE).await.unwrap().is_none() {
                yield_now().await;
            }
        } => {}
    }
    let known = known(&store).await;
    assert!(!known.is_another_disk("one", &one.held()));
    assert!(known.is_another_disk("one", &older));
}
