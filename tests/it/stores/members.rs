//! Brokers that share a store, each in a session of its own: facts for every implementation.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::SystemClock;
use streamlog::metadata::{
    Image, InSyncOutcome, InSyncStateChange, IsrMember, Metadata, MetadataConfig, NewTopic,
    Partition, Registration, Store,
};
use streamlog::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicName};
use tokio::time::timeout;

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

fn name() -> TopicName {
    "clicks".parse().unwrap()
}

async fn register(store: Arc<dyn Store>, id: i32) -> Metadata {
    let (clock, config) = (Arc::new(SystemClock), MetadataConfig::default());
    let metadata = Metadata::open(store, clock, BrokerId(id), None, config).await.unwrap();
    let directory_id = Some(format!("d{id}"));
    let registration = Registration { directory_id, ..Registration::default() };
    metadata.register(&registration).await.unwrap();
    metadata
}

/// Follows the store until the image is as expected.
async fn follow_until(metadata: &Metadata, is_so: impl Fn(&Image) -> bool) -> Arc<Image> {
    let mut images = metadata.image();
    tokio::select! {
        seen = timeout(PATIENCE, images.wait_for(|image| is_so(image))) => {
            Arc::clone(&seen.unwrap().unwrap())
        }
        error = metadata.run() => panic!("{error}"),
    }
}

fn partition(image: &Image) -> Option<&Partition> {
    image.partition(&name(), PartitionIndex(0))
}

/// The change to these brokers, computed from the state in the image.
fn change(image: &Image, brokers: &[i32]) -> InSyncStateChange {
    let state = partition(image).unwrap().state.as_ref().unwrap();
    let member = |id: &i32| {
        let broker = BrokerId(*id);
        IsrMember { broker, incarnation: image.broker(broker).unwrap().incarnation }
    };
    InSyncStateChange {
        topic: name(),
        topic_id: image.topic(&name()).unwrap().id,
        partition: PartitionIndex(0),
        leader_epoch: state.leader_epoch,
        created: state.created,
        version: state.version,
        members: brokers.iter().map(member).collect(),
        successor: None,
        ends_caching: false,
        is_damaged: false,
        is_repeated: false,
    }
}

/// Three brokers share a partition: its leader changes the in-sync set, and an in-sync replica
/// follows it when its session ends.
pub(crate) async fn leaders_and_in_sync_sets_hold_for(store: Arc<dyn Store>) {
    let (session_2, session_3) =
        (store.new_session().await.unwrap(), store.new_session().await.unwrap());
    let leader = register(Arc::clone(&store), 1).await;
    let second = register(session_2, 2).await;
    let _third = register(Arc::clone(&session_3), 3).await;
    follow_until(&leader, |image| image.brokers().len() == 3).await;
    let topic =
        NewTopic { assignment: vec![[1, 2, 3].map(BrokerId).to_vec()], ..NewTopic::named(name()) };
    leader.create_topic(&topic, &|_, _| Ok(())).await.unwrap();

    let image = Arc::clone(&leader.image().borrow());
    assert_eq!(partition(&image).unwrap().isr().len(), 3);
    let shrunk = change(&image, &[1, 2]);
    let foreign = second.change_in_sync(std::slice::from_ref(&shrunk)).await;
    assert_eq!(foreign, [InSyncOutcome::Refused]);
    let applied = [InSyncOutcome::Applied { version: 1 }];
    assert_eq!(leader.change_in_sync(std::slice::from_ref(&shrunk)).await, applied);
    assert_eq!(leader.change_in_sync(&[shrunk]).await, applied, "it is in force");
    let image = Arc::clone(&leader.image().borrow());
    let outdated = InSyncStateChange { version: 0, ..change(&image, &[1, 2, 3]) };
    let grown = change(&image, &[1, 2, 3]);
    session_3.close().await.unwrap();
    let refused = [InSyncOutcome::Refused; 2];
    assert_eq!(leader.change_in_sync(&[outdated, grown]).await, refused, "a member has left");

    let incarnation = leader.membership().unwrap().incarnation;
    let broker = Arc::clone(image.broker(BrokerId(1)).unwrap());
    assert!(broker.incarnation == incarnation);
    assert!(broker.has_key(&leader.membership().unwrap().key.to_bytes()));
    store.close().await.unwrap();
    let led_by_second = |image: &Image| {
        partition(image).is_some_and(|partition| partition.leader() == Some(BrokerId(2)))
    };
    let image = follow_until(&second, led_by_second).await;
    let state = partition(&image).unwrap().state.as_ref().unwrap();
    assert_eq!((state.leader_epoch, state.isr.len()), (LeaderEpoch(1), 1));
    let eligible: Vec<_> = state.eligible.iter().map(|replica| &*replica.directory).collect();
    assert_eq!(eligible, ["d1"], "the second alone is below the minimum of two");
    assert_eq!(image.known_brokers().count(), 3);
}
