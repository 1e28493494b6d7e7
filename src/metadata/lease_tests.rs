//! Leases of brokers whose store answers late, does not answer, or answers from a server that has
//! lost the other servers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::io::{Clock, Disk, ManualClock, MemoryDisk};
use crate::metadata::member::Member;
use crate::metadata::{
    EmbeddedStore, Lease, MemoryStore, Metadata, MetadataConfig, Op, Registration, SessionError,
    Store, StoreError,
};
use crate::types::BrokerId;

const PATH: &str = "/brokers/ids/1";
/// The time that a lease lasts.
const LEASE: Duration = Duration::from_secs(4);
/// A millisecond less than a lease.
const ALMOST: Duration = Duration::from_millis(3_999);
const MILLI: Duration = Duration::from_millis(1);
/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// A registered broker, its store, and the clock of both.
struct Setting {
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    metadata: Metadata,
}

impl Setting {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let store = Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock)));
        let metadata = start(Arc::<MemoryStore>::clone(&store), &clock).await;
        Self { clock, store, metadata }
    }

    fn member(&self) -> Arc<Member> {
        self.metadata.member().unwrap()
    }

    fn lease(&self) -> Arc<Lease> {
        self.metadata.lease(self.member().membership.incarnation)
    }
}

async fn start(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> Metadata {
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(clock);
    let config = MetadataConfig::default();
    let metadata = Metadata::open(store, clock, BrokerId(1), None, config).await.unwrap();
    metadata.register(&Registration::default()).await.unwrap();
    metadata
}

/// Removes the registration of the broker, and registers in another session.
async fn replace_registration(store: &MemoryStore) {
    let other = store.another();
    let node = other.get(PATH).await.unwrap().unwrap();
    let ops = vec![Op::delete(PATH, node.version), Op::create_ephemeral(PATH, node.value)];
    other.multi(ops).await.unwrap();
    assert_eq!(other.get(PATH).await.unwrap().unwrap().version, node.version);
}

#[tokio::test]
async fn a_lease_lasts_for_two_thirds_of_the_time_out() {
    let setting = Setting::new().await;
    assert_eq!(LEASE, MemoryStore::SESSION_TIMEOUT * 2 / 3);
    assert_eq!(LEASE, ALMOST + MILLI);
    for _ in 0..3 {
        setting.clock.advance(ALMOST);
        assert!(setting.lease().is_held());
        setting.member().renew_lease().await.unwrap();
    }
    setting.clock.advance(LEASE);
    assert!(!setting.lease().is_held());
    setting.member().renew_lease().await.unwrap();
    assert!(setting.lease().is_held(), "no other broker can lead while the registration is there");
}

#[tokio::test]
async fn a_lease_counts_from_the_request_and_not_from_its_answer() {
    let Setting { clock, store, metadata } = Setting::new().await;
    let member = metadata.member().unwrap();
    clock.advance(LEASE / 2);
    store.withhold_answers();
    let (renewed, ()) = tokio::join!(member.renew_lease(), async {
        clock.advance(ALMOST);
        store.deliver_answers();
    });
    renewed.unwrap();
    assert!(member.lease.is_held());
    clock.advance(MILLI);
    assert!(!member.lease.is_held());
}

#[tokio::test]
async fn a_server_that_has_lost_the_others_confirms_nothing_although_it_answers_reads() {
    let setting = Setting::new().await;
    setting.clock.advance(ALMOST);
    setting.store.lose_quorum();
    setting.store.expire();
    assert!(setting.store.get(PATH).await.unwrap().is_some(), "a read shows the registration");
    let error = setting.member().renew_lease().await.unwrap_err();
    let is_unreachable = matches!(error, StoreError::Session(SessionError::Unreachable { .. }));
    assert!(is_unreachable, "{error}");
    setting.clock.advance(MILLI);
    assert!(!setting.lease().is_held());
}

#[tokio::test]
async fn the_registration_of_another_session_confirms_nothing() {
    let setting = Setting::new().await;
    setting.clock.advance(ALMOST);
    replace_registration(&setting.store).await;
    let error = setting.member().renew_lease().await.unwrap_err();
    assert!(matches!(error, StoreError::NoNode { .. }), "{error}");
    setting.clock.advance(MILLI);
    assert!(!setting.lease().is_held());
}

#[tokio::test]
async fn a_registration_replaced_behind_the_check_of_its_version_confirms_nothing() {
    let Setting { clock, store, metadata } = Setting::new().await;
    let member = metadata.member().unwrap();
    clock.advance(ALMOST);
    store.withhold_answers();
    let (renewed, ()) = tokio::join!(member.renew_lease(), async {
        replace_registration(&store).await;
        store.deliver_answers();
    });
    assert!(matches!(renewed, Err(StoreError::NoNode { .. })), "{renewed:?}");
    clock.advance(MILLI);
    assert!(!member.lease.is_held());
}

#[tokio::test]
async fn the_end_of_the_session_ends_the_lease_at_once_and_for_good() {
    let setting = Setting::new().await;
    let (member, lease) = (setting.member(), setting.lease());
    setting.store.expire();
    member.renew_lease().await.unwrap_err();
    assert!(!lease.is_held());
    lease.renew(setting.clock.monotonic(), MemoryStore::SESSION_TIMEOUT);
    assert!(!lease.is_held(), "a late confirmation counted");
}

#[tokio::test]
async fn each_registration_has_a_lease_of_its_own() {
    let setting = Setting::new().await;
    let before = setting.member();
    setting.store.expire();
    let is_registered_again = async {
        while setting.metadata.member().is_none_or(|m| Arc::ptr_eq(&m, &before)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = timeout(PATIENCE, is_registered_again) => done.unwrap(),
        error = setting.metadata.run() => panic!("{error}"),
    }
    assert!(setting.lease().is_held());
    assert!(!before.lease.is_held());
    assert!(!setting.metadata.lease(before.membership.incarnation).is_held());
}

#[tokio::test]
async fn the_lease_of_a_store_in_this_process_has_no_end() {
    let clock = Arc::new(ManualClock::default());
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
    let store = EmbeddedStore::open(disk, Path::new("/data/metadata")).unwrap();
    let metadata = start(Arc::new(store), &clock).await;
    let member = metadata.member().unwrap();
    clock.advance(Duration::from_secs(u64::from(u32::MAX)));
    assert!(member.lease.is_held());
    metadata.keep_lease(|| panic!("it has ended")).await;
}

#[tokio::test]
async fn a_lease_is_renewed_for_ever_and_its_end_is_told() {
    let Setting { clock, store, metadata } = Setting::new().await;
    let told = Notify::new();
    let keeping = metadata.keep_lease(|| told.notify_one());
    let lease = metadata.member().map(|member| Arc::clone(&member.lease)).unwrap();
    let held = async {
        while !lease.is_held() {
            tokio::task::yield_now().await;
        }
    };
    let events = async {
        clock.advance(ALMOST);
        store.disconnect();
        clock.advance(MILLI);
        assert!(!lease.is_held());
        told.notified().await;
        store.reconnect();
        held.await;
    };
    tokio::select! {
        done = timeout(PATIENCE, events) => done.unwrap(),
        () = keeping => panic!("a session with another process can end"),
    }
}
