//! Brokers whose sessions end, break, or get no answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::io::{Clock, ManualClock};
use crate::metadata::{
    ConfigEdit, ConfigRules, ConfigTarget, DirectoryPlace, Image, Incarnation, Listener, Lost,
    MemoryStore, Metadata, MetadataConfig, MetadataError, NewTopic, Op, Registration, Store,
};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, Timestamp, TopicName};

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

fn fresh() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(clock()))
}

async fn open(store: &Arc<MemoryStore>, id: i32) -> Metadata {
    let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(store);
    Metadata::open(store, clock(), BrokerId(id), None, MetadataConfig::default()).await.unwrap()
}

async fn start(store: &Arc<MemoryStore>, id: i32) -> Metadata {
    let metadata = open(store, id).await;
    metadata.register(&registration("directory", "boot")).await.unwrap();
    metadata
}

fn registration(directory: &str, boot: &str) -> Registration {
    Registration {
        directory_id: Some(directory.to_owned()),
        boot_id: Some(boot.to_owned()),
        place: Some(DirectoryPlace { device: 1, inode: 2 }),
        ..Registration::default()
    }
}

/// The registration of a process on a copy of the data directory of `registration`.
fn on_a_copy(registration: Registration) -> Registration {
    Registration { place: Some(DirectoryPlace { device: 1, inode: 3 }), ..registration }
}

fn topic(name: &str) -> NewTopic {
    NewTopic { partitions: 2, ..NewTopic::named(name.parse().unwrap()) }
}

fn name(text: &str) -> TopicName {
    text.parse().unwrap()
}

/// Follows the store until the image is as expected.
async fn follow_until(metadata: &Metadata, is_so: impl Fn(&Image) -> bool) {
    let mut images = metadata.image();
    tokio::select! {
        seen = images.wait_for(|image| is_so(image)) => drop(seen.unwrap()),
        error = metadata.run() => panic!("{error}"),
    }
}

fn leads(image: &Image, topic: &str, epoch: i32) -> bool {
    image.partition(&name(topic), PartitionIndex(1)).is_some_and(|partition| {
        partition.leader() == Some(BrokerId(1)) && partition.leader_epoch() == LeaderEpoch(epoch)
    })
}

#[tokio::test]
async fn a_broker_registers_again_in_a_new_session_and_leads_in_new_epochs() {
    let store = fresh();
    let metadata = start(&store, 1).await;
    let other = open(&Arc::new(store.another()), 2).await;
    metadata.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
    let before = metadata.image().borrow().broker(BrokerId(1)).unwrap().incarnation;
    store.disconnect();
    store.expire();
    // Nobody is registered, and nobody is the controller.
    follow_until(&other, |image| image.brokers().len() == 0).await;
    store.reconnect();
    follow_until(&metadata, |image| leads(image, "clicks", 1)).await;
    let image = Arc::clone(&metadata.image().borrow());
    assert!(image.broker(BrokerId(1)).unwrap().incarnation > before);
    assert_eq!(image.controller().unwrap().broker, BrokerId(1));
    assert_ne!(metadata.store().session(), store.session());
    metadata.create_topic(&topic("views"), &|_, _| Ok(())).await.unwrap();
    assert!(leads(&metadata.image().borrow(), "views", 0));
}

#[tokio::test]
async fn a_session_that_is_only_cut_off_goes_on_and_what_was_missed_is_read() {
    let store = fresh();
    let metadata = start(&store, 1).await;
    let other = open(&Arc::new(store.another()), 2).await;
    let before = metadata.image().borrow().broker(BrokerId(1)).unwrap().incarnation;
    store.disconnect();
    let refused = metadata.create_topic(&topic("lost"), &|_, _| Ok(())).await.unwrap_err();
    assert!(matches!(refused, MetadataError::Store(_)), "{refused}");
    other.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
    store.reconnect();
    follow_until(&metadata, |image| leads(image, "clicks", 0)).await;
    let image = Arc::clone(&metadata.image().borrow());
    assert_eq!(image.broker(BrokerId(1)).unwrap().incarnation, before);
    assert!(image.topic(&name("lost")).is_none());
}

#[tokio::test]
async fn an_operation_whose_message_is_lost_is_done_exactly_once() {
    for lost in [Lost::Request, Lost::Response] {
        let store = fresh();
        let metadata = open(&store, 1).await;
        // Registering sends two transactions: the registration, and the claim to the controller
        // role.
        store.lose(lost);
        store.lose(lost);
        metadata.register(&registration("directory", "boot")).await.unwrap();
        assert_eq!(metadata.image().borrow().controller().unwrap().broker, BrokerId(1));

        store.lose(lost);
        let id = metadata.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
        assert!(leads(&metadata.image().borrow(), "clicks", 0), "{lost:?}");
        store.lose(lost);
        metadata.create_partitions(&name("clicks"), 3, &[]).await.unwrap();
        let rules = ConfigRules { check: &|_, _| Ok(()), inherited_list: &|_| None };
        let edits = [ConfigEdit::Set("flush.ms".to_owned(), "5".to_owned())];
        store.lose(lost);
        let target = ConfigTarget::Topic(name("clicks"));
        metadata.edit_configs(&target, &edits, rules).await.unwrap();
        store.lose(lost);
        let first = metadata.new_producer_id().await.unwrap();
        let block = store.get("/latest_producer_id_block").await.unwrap().unwrap();
        let of_block = (block.created * 1000, 1);
        assert_eq!((first.0, block.version), of_block, "{lost:?}: one block is reserved");
        {
            let image = Arc::clone(&metadata.image().borrow());
            let topic = image.topic(&name("clicks")).unwrap();
            assert_eq!((topic.partitions.len(), topic.version), (3, 1));
            assert_eq!((topic.configs["flush.ms"].as_str(), topic.config_version), ("5", Some(1)));
        }
        store.lose(lost);
        metadata.delete_topic(id).await.unwrap();
        store.lose(lost);
        metadata.topic_data_removed(id).await.unwrap();
        assert!(metadata.image().borrow().tombstone(id).is_none(), "{lost:?}");
    }
}

#[tokio::test]
async fn a_dead_process_on_the_same_directory_is_replaced_at_once() {
    let store = fresh();
    let dead = start(&store, 1).await;
    dead.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
    // The dead process was the controller too.
    let next = start(&Arc::new(store.another()), 1).await;
    let image = Arc::clone(&next.image().borrow());
    assert!(leads(&image, "clicks", 1), "{image:?}");
    assert_eq!(image.controller().unwrap().broker, BrokerId(1));
}

#[tokio::test]
async fn a_broker_registers_at_whichever_moment_the_session_of_its_predecessor_ends() {
    for call in 1..=8 {
        let store = fresh();
        let dead = start(&store, 1).await;
        let session = Arc::new(store.another());
        let next = open(&session, 1).await;
        session.expire_before_call(call, Arc::clone(&store));
        let registered = next.register(&registration("directory", "boot")).await;
        let incarnation = registered.unwrap_or_else(|error| panic!("call {call}: {error}"));
        assert!(incarnation > dead.membership().unwrap().incarnation);
        let image = Arc::clone(&next.image().borrow());
        assert_eq!(image.broker(BrokerId(1)).unwrap().incarnation, incarnation, "call {call}");
    }
}

#[tokio::test]
async fn in_another_boot_or_on_another_disk_the_end_of_the_earlier_session_is_awaited() {
    for registration in [registration("directory", "later"), registration("emptied", "boot")] {
        let store = fresh();
        let _dead = start(&store, 1).await;
        let next = open(&Arc::new(store.another()), 1).await;
        let registering = next.register(&registration);
        tokio::pin!(registering);
        tokio::select! {
            biased;
            registered = &mut registering => panic!("{registered:?}"),
            () = tokio::task::yield_now() => {}
        }
        store.expire();
        registering.await.unwrap();
        assert_eq!(next.image().borrow().controller().unwrap().broker, BrokerId(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_whose_id_another_keeps_is_refused_after_the_time_out_of_a_session() {
    let timeout = Duration::from_secs(30);
    let store = Arc::new(MemoryStore::with_timeout(clock(), timeout));
    let _alive = start(&store, 1).await;
    let next = open(&Arc::new(store.another()), 1).await;
    let began = Instant::now();
    let error = next.register(&registration("another", "boot")).await.unwrap_err();
    assert!(matches!(error, MetadataError::BrokerIdInUse { broker: BrokerId(1), .. }), "{error}");
    let waited = began.elapsed();
    assert!((timeout..timeout * 2).contains(&waited), "refused after {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_whose_id_was_taken_while_it_ran_ends_at_once() {
    let store = fresh();
    let replaced = start(&store, 1).await;
    store.expire();
    let rival = open(&Arc::new(store.another()), 1).await;
    rival.register(&registration("another", "boot")).await.unwrap();
    let began = Instant::now();
    let error = replaced.run().await;
    assert!(matches!(error, MetadataError::BrokerIdInUse { broker: BrokerId(1), .. }), "{error}");
    assert!(began.elapsed() < MemoryStore::SESSION_TIMEOUT, "after {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_process_on_a_copy_of_the_directory_of_a_live_broker_is_refused() {
    let store = fresh();
    let alive = start(&store, 1).await;
    alive.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
    let before = alive.membership();
    for copy in [
        on_a_copy(registration("directory", "boot")),
        // An earlier build does not tell the place.
        Registration { place: None, ..registration("directory", "boot") },
    ] {
        let second = open(&Arc::new(store.another()), 1).await;
        let error = second.register(&copy).await.unwrap_err();
        assert!(matches!(error, MetadataError::BrokerIdInUse { .. }), "{error}");
    }
    alive.new_producer_id().await.unwrap();
    assert_eq!(alive.membership(), before);
    let image = Arc::clone(&alive.image().borrow());
    assert!(leads(&image, "clicks", 0), "{image:?}");
    assert_eq!(alive.incarnation_in(&image), before.unwrap().incarnation);
}

#[tokio::test(start_paused = true)]
async fn a_broker_whose_registration_is_replaced_leads_no_more_and_ends() {
    let store = fresh();
    let replaced = start(&store, 1).await;
    replaced.create_topic(&topic("clicks"), &|_, _| Ok(())).await.unwrap();
    // The session lives on, but its nodes are deleted and another process takes the id.
    let nodes = ["/brokers/ids/1", "/streamlog/sessions/1"].map(|path| Op::delete(path, 0));
    store.multi(nodes.into()).await.unwrap();
    let rival = open(&Arc::new(store.another()), 1).await;
    let copy = on_a_copy(registration("directory", "boot"));
    let incarnation = rival.register(&copy).await.unwrap();
    let error = replaced.run().await;
    assert!(matches!(error, MetadataError::BrokerIdInUse { .. }), "{error}");
    let image = Arc::clone(&replaced.image().borrow());
    assert_eq!(image.broker(BrokerId(1)).unwrap().incarnation, incarnation);
    assert_eq!(replaced.incarnation_in(&image), Incarnation::UNKNOWN);
    let image = Arc::clone(&rival.image().borrow());
    assert_eq!(rival.incarnation_in(&image), incarnation);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waits_for_an_id_does_not_take_it_when_the_broker_stops_in_order() {
    for waiting in [registration("another", "boot"), on_a_copy(registration("directory", "boot"))] {
        let store = fresh();
        let stopped = start(&store, 1).await;
        let duplicate = open(&Arc::new(store.another()), 1).await;
        let (refused, left) = tokio::join!(duplicate.register(&waiting), async {
            sleep(Duration::from_secs(1)).await;
            stopped.leave().await
        });
        left.unwrap();
        let error = refused.unwrap_err();
        assert!(matches!(error, MetadataError::BrokerIdInUse { .. }), "{error}");
        start(&Arc::new(store.another()), 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_on_an_emptied_disk_takes_the_id_once_the_guard_of_its_predecessor_acts() {
    let store = fresh();
    let _killed = start(&store, 1).await;
    let next = open(&Arc::new(store.another()), 1).await;
    let emptied = registration("emptied", "boot");
    let (registered, ()) = tokio::join!(next.register(&emptied), async {
        sleep(Duration::from_secs(1)).await;
        store.prove_end();
    });
    registered.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_long_session_is_awaited() {
    let timeout = Duration::from_mins(1);
    let store = Arc::new(MemoryStore::with_timeout(clock(), timeout));
    let _dead = start(&store, 1).await;
    let next = open(&Arc::new(store.another()), 1).await;
    let emptied = registration("emptied", "boot");
    let (registered, ()) = tokio::join!(next.register(&emptied), async {
        // ZooKeeper ends a session up to a tick late.
        sleep(timeout + Duration::from_secs(2)).await;
        store.expire();
    });
    registered.unwrap();
}

#[tokio::test]
async fn the_end_of_a_process_is_noted_by_its_guard_its_successor_or_itself_but_by_no_session() {
    let store = fresh();
    let ended = |metadata: &Metadata| {
        let image = Arc::clone(&metadata.image().borrow());
        image.known_broker(BrokerId(1)).unwrap().ended
    };
    let incarnation = |metadata: &Metadata| Some(metadata.membership().unwrap().incarnation);
    let first = start(&store, 1).await;
    let first_incarnation = incarnation(&first);
    store.expire();
    follow_until(&first, |image| {
        image.broker(BrokerId(1)).is_some_and(|known| Some(known.incarnation) > first_incarnation)
    })
    .await;
    assert_eq!(ended(&first), None, "the process lives on");

    // A successor on the same directory in the same boot finds its registration.
    let session = Arc::new(store.another());
    let second = start(&session, 1).await;
    assert_eq!(ended(&second), incarnation(&first));
    // The guard of the second process notes its end.
    let last = incarnation(&second);
    session.prove_end();
    let third = start(&Arc::new(store.another()), 1).await;
    assert_eq!(ended(&third), last);
    let own = incarnation(&third);
    third.leave().await.unwrap();
    let fourth = start(&Arc::new(store.another()), 1).await;
    assert_eq!(ended(&fourth), own);
    // A successor on another directory proves nothing.
    let gone = incarnation(&fourth);
    fourth.store().close().await.unwrap();
    let other = open(&Arc::new(store.another()), 1).await;
    other.register(&registration("another", "boot")).await.unwrap();
    assert!(ended(&other) == own && own < gone);
}

#[tokio::test]
async fn each_registration_has_a_key_of_its_own_of_which_only_the_hash_is_stored() {
    let store = fresh();
    let metadata = start(&store, 1).await;
    let first = metadata.membership().unwrap();
    let broker = Arc::clone(metadata.image().borrow().broker(BrokerId(1)).unwrap());
    assert_eq!(broker.incarnation, first.incarnation);
    assert!(broker.has_key(&first.key.to_bytes()));
    store.expire();
    follow_until(&metadata, |image| {
        image.broker(BrokerId(1)).is_some_and(|broker| broker.incarnation > first.incarnation)
    })
    .await;
    let second = metadata.membership().unwrap();
    let broker = Arc::clone(metadata.image().borrow().broker(BrokerId(1)).unwrap());
    assert!(broker.has_key(&second.key.to_bytes()) && !broker.has_key(&first.key.to_bytes()));
}

#[tokio::test]
async fn a_broker_stays_known_with_its_directory_after_its_session() {
    let store = fresh();
    let metadata = start(&store, 1).await;
    let other = open(&Arc::new(store.another()), 2).await;
    metadata.leave().await.unwrap();
    follow_until(&other, |image| image.brokers().len() == 0).await;
    let image = Arc::clone(&other.image().borrow());
    let known: Vec<_> =
        image.known_brokers().map(|(id, known)| (id, known.directory_id.clone())).collect();
    assert_eq!(known, [(BrokerId(1), Some("directory".to_owned()))]);
}

#[tokio::test(start_paused = true)]
async fn a_second_broker_of_the_same_id_is_told_the_address_of_the_first() {
    let store = fresh();
    let first = open(&store, 1).await;
    let listener = Listener {
        name: "PLAINTEXT".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: 9092,
        security_protocol: "PLAINTEXT".to_owned(),
    };
    let registration = Registration { listeners: vec![listener], ..registration("one", "boot") };
    first.register(&registration).await.unwrap();
    let before = first.membership();
    let second = open(&Arc::new(store.another()), 1).await;
    let error = second.register(&self::registration("two", "boot")).await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:9092"), "{error}");
    assert!(error.to_string().contains("--broker-id"), "{error}");
    let known = store.get("/streamlog/brokers/1").await.unwrap().unwrap();
    assert_eq!(known.version, 0, "the first is unharmed");
    assert_eq!((first.membership(), second.membership()), (before, None));
}
