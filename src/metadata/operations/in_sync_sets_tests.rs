//! Changes of in-sync sets, written by leaders on a shared store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::timeout;

use crate::io::{Clock, ManualClock};
use crate::metadata::in_sync::handed_over;
use crate::metadata::store::{SessionId, StoreFuture, Watch};
use crate::metadata::{
    Caching, ConfigEdit, ConfigRules, ConfigTarget, Image, InSyncOutcome, InSyncStateChange,
    IsrMember, Lost, MemoryStore, Metadata, MetadataConfig, NewTopic, Node, Op, OpResult,
    Registration, Store,
};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, Timestamp, TopicName};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

const REFUSED: InSyncOutcome = InSyncOutcome::Refused;

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

fn name() -> TopicName {
    "clicks".parse().unwrap()
}

fn registration(directory: &str) -> Registration {
    Registration { directory_id: Some(directory.to_owned()), ..Registration::default() }
}

async fn start(store: Arc<dyn Store>, id: i32) -> Metadata {
    let config = MetadataConfig::default();
    let metadata = Metadata::open(store, clock(), BrokerId(id), None, config).await.unwrap();
    metadata.register(&registration(&format!("d{id}"))).await.unwrap();
    metadata
}

/// A store whose next transaction is preceded by the operations in `first`, made by a rival
/// session.
#[derive(Debug)]
pub(super) struct Overtaken {
    pub(super) store: Arc<MemoryStore>,
    pub(super) rival: MemoryStore,
    pub(super) first: Mutex<Vec<Op>>,
}

impl Store for Overtaken {
    fn session(&self) -> SessionId {
        self.store.session()
    }

    fn last_heard(&self) -> Option<Duration> {
        self.store.last_heard()
    }

    fn session_timeout(&self) -> Option<Duration> {
        self.store.session_timeout()
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        self.store.new_session()
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.store.close()
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        self.store.read(paths)
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.store.children(path)
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        self.store.snapshot(path)
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        let first = std::mem::take(&mut *self.first.lock().unwrap());
        Box::pin(async move {
            if !first.is_empty() {
                self.rival.multi(first).await?;
            }
            self.store.multi(ops).await
        })
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        self.store.watch(subtrees)
    }
}

/// Three brokers, of which the first leads a topic. All three have replicas of the topic.
struct Cluster {
    overtaken: Arc<Overtaken>,
    stores: Vec<Arc<MemoryStore>>,
    leader: Metadata,
    others: Vec<Metadata>,
}

impl Cluster {
    async fn new(partitions: usize) -> Self {
        let first = Arc::new(MemoryStore::new(clock()));
        let stores = vec![Arc::clone(&first), Arc::new(first.another()), Arc::new(first.another())];
        let (store, rival) = (Arc::clone(&stores[0]), stores[0].another());
        let overtaken = Arc::new(Overtaken { store, rival, first: Mutex::default() });
        let leader = start(Arc::<Overtaken>::clone(&overtaken), 1).await;
        let mut others = Vec::new();
        for (store, id) in stores[1..].iter().zip(2..) {
            others.push(start(Arc::<MemoryStore>::clone(store), id).await);
        }
        let cluster = Self { overtaken, stores, leader, others };
        cluster.reload().await;
        let replicas = [1, 2, 3].map(BrokerId).to_vec();
        let topic = NewTopic { assignment: vec![replicas; partitions], ..NewTopic::named(name()) };
        cluster.leader.create_topic(&topic, &|_, _| Ok(())).await.unwrap();
        cluster
    }

    async fn reload(&self) {
        let paths = (1..=3).map(|id| format!("/brokers/ids/{id}"));
        self.leader.reload(&paths.collect::<Vec<_>>()).await.unwrap();
    }

    fn image(&self) -> Arc<Image> {
        Arc::clone(&self.leader.image().borrow())
    }

    fn members(&self, brokers: &[i32]) -> Vec<IsrMember> {
        let image = self.image();
        let member = |id: &i32| {
            let broker = BrokerId(*id);
            IsrMember { broker, incarnation: image.broker(broker).unwrap().incarnation }
        };
        brokers.iter().map(member).collect()
    }

    /// A change of a partition's in-sync set to these brokers, computed from the current image.
    fn change(&self, partition: i32, brokers: &[i32]) -> InSyncStateChange {
        let image = self.image();
        let partition = PartitionIndex(partition);
        let state = image.partition(&name(), partition).unwrap().state.clone().unwrap();
        InSyncStateChange {
            topic: name(),
            topic_id: image.topic(&name()).unwrap().id,
            partition,
            leader_epoch: state.leader_epoch,
            created: state.created,
            version: state.version,
            members: self.members(brokers),
            successor: None,
            ends_caching: false,
            is_damaged: false,
            is_repeated: false,
        }
    }

    /// Lets a broker register again just before the leader's next transaction, between the leader's
    /// check and its write.
    async fn register_first(&self, broker: i32) {
        let live = format!("/brokers/ids/{broker}");
        let known = format!("/streamlog/brokers/{broker}");
        let registered = self.stores[0].get(&live).await.unwrap().unwrap();
        let before = self.stores[0].get(&known).await.unwrap().unwrap();
        *self.overtaken.first.lock().unwrap() = vec![
            Op::delete(live.clone(), registered.version),
            // ZooKeeper counts versions from 0, so the new node has the version of the deleted one.
            // The change can notice the new registration only by the version of the known node.
            Op::create_ephemeral(live, registered.value),
            Op::set(known, before.value, before.version),
        ];
    }

    fn isr(&self, partition: i32) -> Vec<i32> {
        let image = self.image();
        let partition = image.partition(&name(), PartitionIndex(partition)).unwrap();
        partition.isr().iter().map(|member| member.broker.0).collect()
    }
}

#[tokio::test]
async fn a_leader_changes_its_in_sync_set_and_reads_the_change_in_its_image() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1]);
    let outcomes = cluster.leader.change_in_sync(&[shrunk]).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }]);
    assert_eq!(cluster.isr(0), [1]);
    let image = cluster.image();
    let state = image.partition(&name(), PartitionIndex(0)).unwrap().state.clone().unwrap();
    assert_eq!((state.leader_epoch, state.minimum), (LeaderEpoch(0), Some(2)));
    let eligible: Vec<_> = state.eligible.iter().map(|e| (e.broker.0, &*e.directory)).collect();
    assert_eq!(eligible, [(2, "d2"), (3, "d3")]);

    let grown = cluster.change(0, &[1, 3]);
    let outcomes = cluster.leader.change_in_sync(&[grown]).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 2 }]);
    let state = cluster.image().partition(&name(), PartitionIndex(0)).unwrap().state.clone();
    assert!(state.unwrap().eligible.is_empty(), "the set has its minimum");
}

#[tokio::test]
async fn the_leader_ends_the_caching_that_the_controller_has_recorded() {
    let cluster = Cluster::new(1).await;
    let state = || {
        let image = cluster.image();
        image.partition(&name(), PartitionIndex(0)).unwrap().state.clone().unwrap()
    };
    let set = async |value: &str| {
        let edit = ConfigEdit::Set("write.caching".to_owned(), value.to_owned());
        let rules = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };
        let target = ConfigTarget::Topic(name());
        cluster.leader.edit_configs(&target, &[edit], rules).await.unwrap();
    };
    set("true").await;
    assert_eq!(state().caching, Caching::On);
    set("false").await;
    assert_eq!(state().caching, Caching::Ending);
    let ending = InSyncStateChange { ends_caching: true, ..cluster.change(0, &[1, 2, 3]) };
    let outcomes = cluster.leader.change_in_sync(std::slice::from_ref(&ending)).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: ending.version + 1 }]);
    assert_eq!(state().caching, Caching::Off);
    assert_eq!(state().caching_ended, Some(ending.leader_epoch));
    let repeated = InSyncStateChange { is_repeated: true, ..ending };
    let outcomes = cluster.leader.change_in_sync(std::slice::from_ref(&repeated)).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: repeated.version + 1 }]);
}

#[tokio::test]
async fn a_change_from_an_earlier_state_or_epoch_or_by_another_broker_is_refused() {
    let cluster = Cluster::new(1).await;
    let current = cluster.change(0, &[1, 2]);
    let stale = InSyncStateChange { version: current.version - 1, ..current.clone() };
    let fenced = InSyncStateChange { leader_epoch: LeaderEpoch(7), ..current.clone() };
    let other = InSyncStateChange { topic_id: crate::types::TopicId::random(), ..current.clone() };
    let without_leader = cluster.change(0, &[2, 3]);
    let absent = {
        let mut change = current.clone();
        change.partition = PartitionIndex(9);
        change
    };
    for change in [stale, other, without_leader, fenced, absent] {
        assert_eq!(cluster.leader.change_in_sync(&[change]).await, [REFUSED]);
    }
    let others = cluster.others[0].change_in_sync(std::slice::from_ref(&current)).await;
    assert_eq!(others, [REFUSED]);
    assert_eq!(cluster.isr(0), [1, 2, 3]);
    let outcomes = cluster.leader.change_in_sync(&[current]).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }]);
}

#[tokio::test]
async fn a_repetition_that_writes_nothing_does_not_settle_an_earlier_attempt() {
    let cluster = Cluster::new(1).await;
    let repeated = InSyncStateChange { is_repeated: true, ..cluster.change(0, &[1, 2]) };
    let fenced = InSyncStateChange { leader_epoch: LeaderEpoch(7), ..repeated.clone() };
    let absent = InSyncStateChange { partition: PartitionIndex(9), ..repeated.clone() };
    for change in [fenced, absent] {
        let outcomes = cluster.leader.change_in_sync(&[change]).await;
        assert_eq!(outcomes, [InSyncOutcome::Unknown]);
    }
    let stale = InSyncStateChange { version: repeated.version - 1, ..repeated.clone() };
    assert_eq!(cluster.leader.change_in_sync(&[stale]).await, [InSyncOutcome::Unknown]);
    // An earlier attempt is applied, and the controller changes the state in the same epoch.
    let first = InSyncStateChange { is_repeated: false, ..repeated.clone() };
    cluster.leader.change_in_sync(&[first]).await;
    let edit = ConfigEdit::Set("write.caching".to_owned(), "true".to_owned());
    let rules = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };
    let target = ConfigTarget::Topic(name());
    cluster.leader.edit_configs(&target, &[edit], rules).await.unwrap();
    assert_eq!(cluster.isr(0), [1, 2]);
    assert_eq!(cluster.leader.change_in_sync(&[repeated]).await, [InSyncOutcome::Unknown]);
}

#[tokio::test]
async fn a_replica_joins_only_as_the_incarnation_that_its_leader_has_seen() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    cluster.leader.change_in_sync(&[shrunk]).await;
    let joining = cluster.change(0, &[1, 2, 3]);
    cluster.stores[2].close().await.unwrap();
    assert_eq!(cluster.leader.change_in_sync(std::slice::from_ref(&joining)).await, [REFUSED]);
    let _again = start(Arc::new(cluster.stores[2].another()), 3).await;
    assert_eq!(cluster.leader.change_in_sync(std::slice::from_ref(&joining)).await, [REFUSED]);
    cluster.reload().await;
    let joining = cluster.change(0, &[1, 2, 3]);
    let outcomes = cluster.leader.change_in_sync(&[joining]).await;
    assert!(matches!(outcomes[..], [InSyncOutcome::Applied { .. }]), "{outcomes:?}");
}

#[tokio::test]
async fn in_sync_sets_change_again_once_a_broker_has_written_its_deleted_node_again() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    cluster.leader.change_in_sync(&[shrunk]).await;
    for (owner, id) in [(&cluster.leader, 1), (&cluster.others[1], 3)] {
        let (person, path) = (&cluster.stores[1], format!("/streamlog/brokers/{id}"));
        let version = person.get(&path).await.unwrap().unwrap().version;
        person.multi(vec![Op::delete(path.clone(), version)]).await.unwrap();
        let joining = cluster.change(0, &[1, 2, 3]);
        assert_eq!(cluster.leader.change_in_sync(&[joining]).await, [REFUSED], "broker {id}");
        let is_written = async {
            while person.get(&path).await.unwrap().is_none() {
                yield_now().await;
            }
        };
        tokio::select! {
            written = timeout(PATIENCE, is_written) => written.unwrap(),
            error = owner.run() => panic!("{error}"),
        }
    }
    let joining = cluster.change(0, &[1, 2, 3]);
    let outcomes = cluster.leader.change_in_sync(&[joining]).await;
    assert!(matches!(outcomes[..], [InSyncOutcome::Applied { .. }]), "{outcomes:?}");
}

#[tokio::test]
async fn a_replica_that_registers_again_between_check_and_write_does_not_join() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    cluster.leader.change_in_sync(&[shrunk]).await;
    let joining = cluster.change(0, &[1, 2, 3]);
    cluster.register_first(3).await;
    assert_eq!(cluster.leader.change_in_sync(&[joining]).await, [REFUSED]);
    assert_eq!(cluster.isr(0), [1, 2]);
}

#[tokio::test]
async fn a_leader_that_registers_again_between_check_and_write_changes_nothing() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    cluster.register_first(1).await;
    assert_eq!(cluster.leader.change_in_sync(&[shrunk]).await, [REFUSED]);
    let state = "/brokers/topics/clicks/partitions/0/state";
    assert_eq!(cluster.stores[0].get(state).await.unwrap().unwrap().version, 0);
}

#[tokio::test]
async fn a_refused_change_does_not_hold_up_the_others() {
    let partitions = 1_000;
    let cluster = Cluster::new(partitions).await;
    let count = i32::try_from(partitions).unwrap();
    let mut changes: Vec<_> = (0..count).map(|index| cluster.change(index, &[1, 2])).collect();
    for index in [3, 5, 700] {
        changes[index].version += 1;
    }
    let outcomes = cluster.leader.change_in_sync(&changes).await;
    for (index, outcome) in outcomes.iter().enumerate() {
        let expected = match index {
            3 | 5 | 700 => REFUSED,
            _ => InSyncOutcome::Applied { version: 1 },
        };
        assert_eq!(*outcome, expected, "partition {index}");
    }
    assert_eq!((cluster.isr(3), cluster.isr(4)), (vec![1, 2, 3], vec![1, 2]));
}

#[tokio::test]
async fn a_change_whose_message_is_lost_is_made_once() {
    for lost in [Lost::Request, Lost::Response] {
        let cluster = Cluster::new(1).await;
        let change = cluster.change(0, &[1, 2]);
        cluster.stores[0].lose(lost);
        let outcomes = cluster.leader.change_in_sync(std::slice::from_ref(&change)).await;
        assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }], "{lost:?}");
        let again = cluster.leader.change_in_sync(&[change]).await;
        assert_eq!(again, [InSyncOutcome::Applied { version: 1 }], "{lost:?}");
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_written_says_nothing_of_an_earlier_attempt() {
    let cluster = Cluster::new(1).await;
    let change = cluster.change(0, &[1, 2]);
    cluster.stores[0].disconnect();
    let outcomes = cluster.leader.change_in_sync(std::slice::from_ref(&change)).await;
    assert_eq!(outcomes, [REFUSED]);
    cluster.stores[0].expire();
    cluster.stores[0].reconnect();
    assert_eq!(cluster.leader.change_in_sync(&[change]).await, [REFUSED]);
}

#[tokio::test]
async fn a_change_that_was_made_is_recognized_after_the_session_that_made_it() {
    let cluster = Cluster::new(1).await;
    let change = cluster.change(0, &[1, 2]);
    let applied = [InSyncOutcome::Applied { version: 1 }];
    assert_eq!(cluster.leader.change_in_sync(std::slice::from_ref(&change)).await, applied);
    // The leader's registration ends; no other leader has been elected yet.
    let registration = cluster.stores[0].get("/brokers/ids/1").await.unwrap().unwrap();
    let removal = Op::delete("/brokers/ids/1", registration.version);
    cluster.stores[1].multi(vec![removal]).await.unwrap();
    assert_eq!(cluster.leader.change_in_sync(&[change]).await, applied);
}

/// The hand-over of the first partition to a broker.
fn hand_over(cluster: &Cluster, to: i32) -> InSyncStateChange {
    let members: Vec<i32> = cluster.isr(0);
    InSyncStateChange { successor: Some(cluster.members(&[to])[0]), ..cluster.change(0, &members) }
}

#[tokio::test]
async fn a_leader_that_hands_over_because_of_damage_is_known_to_be_damaged_until_it_leads_again() {
    let cluster = Cluster::new(1).await;
    let change = InSyncStateChange { is_damaged: true, ..hand_over(&cluster, 3) };
    let applied = [InSyncOutcome::Applied { version: 1 }];
    assert_eq!(cluster.leader.change_in_sync(&[change]).await, applied);
    let image = cluster.image();
    let partition = image.partition(&name(), PartitionIndex(0)).unwrap();
    assert_eq!(partition.leader(), Some(BrokerId(3)));
    let damaged = [1, 2, 3].map(|id| image.is_damaged(partition, BrokerId(id)));
    assert_eq!(damaged, [true, false, false]);
    assert_eq!(image.intact_successor(partition, BrokerId(3)), Some(BrokerId(2)));
    let state = partition.state.as_deref().unwrap().clone();
    let back = handed_over(state, cluster.members(&[1])[0]);
    assert_eq!(back.damaged, []);
}

#[tokio::test]
async fn a_leader_hands_over_once_and_leads_no_more() {
    let cluster = Cluster::new(1).await;
    let change = hand_over(&cluster, 3);
    let applied = [InSyncOutcome::Applied { version: 1 }];
    assert_eq!(cluster.leader.change_in_sync(std::slice::from_ref(&change)).await, applied);
    let image = cluster.image();
    let state = image.partition(&name(), PartitionIndex(0)).unwrap().state.clone().unwrap();
    assert_eq!((state.leader, state.leader_epoch), (Some(BrokerId(3)), LeaderEpoch(1)));
    let incarnation = image.broker(BrokerId(3)).unwrap().incarnation;
    assert_eq!(state.leader_incarnation, incarnation);
    assert_eq!(cluster.isr(0), [1, 2, 3]);
    assert_eq!(cluster.leader.change_in_sync(&[change]).await, applied, "a repetition");
    let late = cluster.change(0, &[1]);
    assert_eq!(cluster.leader.change_in_sync(&[late]).await, [REFUSED]);
}

#[tokio::test]
async fn a_leader_hands_over_to_an_in_sync_replica_that_has_not_registered_again() {
    let cluster = Cluster::new(1).await;
    let gone = hand_over(&cluster, 3);
    cluster.stores[2].close().await.unwrap();
    assert_eq!(cluster.leader.change_in_sync(std::slice::from_ref(&gone)).await, [REFUSED]);
    let _again = start(Arc::new(cluster.stores[2].another()), 3).await;
    assert_eq!(cluster.leader.change_in_sync(&[gone]).await, [REFUSED]);

    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    cluster.leader.change_in_sync(&[shrunk]).await;
    let outside = hand_over(&cluster, 3);
    assert_eq!(cluster.leader.change_in_sync(&[outside]).await, [REFUSED]);
}

#[tokio::test]
async fn a_hand_over_and_other_changes_go_to_the_store_together() {
    let cluster = Cluster::new(2).await;
    let changes = [hand_over(&cluster, 2), cluster.change(1, &[1, 2])];
    let outcomes = cluster.leader.change_in_sync(&changes).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }; 2]);
    assert_eq!((cluster.isr(0), cluster.isr(1)), (vec![1, 2, 3], vec![1, 2]));
}

#[tokio::test]
async fn a_broker_that_stops_says_so_and_keeps_its_incarnation() {
    let cluster = Cluster::new(1).await;
    let before = Arc::clone(cluster.image().broker(BrokerId(1)).unwrap());
    assert!(!before.registration.is_stopping);
    cluster.leader.announce_stop().await.unwrap();
    let after = Arc::clone(cluster.image().broker(BrokerId(1)).unwrap());
    assert!(after.registration.is_stopping);
    assert_eq!(after.incarnation, before.incarnation);
    let change = hand_over(&cluster, 2);
    let outcomes = cluster.leader.change_in_sync(&[change]).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }], "it still hands over");
}

#[tokio::test]
async fn a_change_computed_from_an_earlier_node_is_refused() {
    let cluster = Cluster::new(1).await;
    let shrunk = cluster.change(0, &[1, 2]);
    let (person, path) = (&cluster.stores[1], "/brokers/topics/clicks/partitions/0/state");
    let state = person.get(path).await.unwrap().unwrap();
    assert_eq!(state.version, 0, "the restored node has the same version");
    let ops = vec![Op::delete(path, 0), Op::create(path, state.value)];
    person.multi(ops).await.unwrap();
    assert_eq!(cluster.leader.change_in_sync(&[shrunk]).await, [REFUSED]);
    cluster.leader.reload(&[path.to_owned()]).await.unwrap();
    let shrunk = cluster.change(0, &[1, 2]);
    let outcomes = cluster.leader.change_in_sync(&[shrunk]).await;
    assert_eq!(outcomes, [InSyncOutcome::Applied { version: 1 }]);
}
