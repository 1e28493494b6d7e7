//! Trees of which the nodes that every cluster has are deleted by hand.

use std::sync::Arc;

use crate::metadata::bootstrap::{has_cluster, restore_tree};
use crate::metadata::hand_edit_tests::{
    clock, create, delete, edit, epoch, follow_until, follow_until_there, start,
};
use crate::metadata::{MemoryStore, Metadata, MetadataConfig, NewTopic, Registration, Store};
use crate::types::{BrokerId, LeaderEpoch};

#[tokio::test]
async fn the_nodes_that_every_tree_has_are_created_again_by_a_broker_of_the_cluster() {
    let (metadata, store, person) = start().await;
    let id = metadata.current_image().cluster_id().to_owned();
    for deleted in ["/streamlog", "/cluster", "/admin", "/config/topics", "/brokers/ids"] {
        delete(&person, deleted).await;
        follow_until_there(&metadata, &person, deleted).await;
        follow_until(&metadata, |image| image.brokers().len() == 1).await;
        let reopened: Arc<dyn Store> = Arc::<MemoryStore>::clone(&store);
        let config = MetadataConfig::default();
        let other = Metadata::open(reopened, clock(), BrokerId(2), Some(&id), config);
        assert_eq!(other.await.unwrap().current_image().cluster_id(), id, "{deleted}");
    }
    // While no broker runs, one of this cluster may start without the marker.
    delete(&person, "/streamlog").await;
    for (claimed, is_own) in [("another", false), (&*id, true)] {
        let reopened: Arc<dyn Store> = Arc::<MemoryStore>::clone(&store);
        let config = MetadataConfig::default();
        let other = Metadata::open(reopened, clock(), BrokerId(2), Some(claimed), config);
        assert_eq!(other.await.is_ok(), is_own);
    }
    // A tree that is gone whole is not created again.
    for gone in ["/streamlog", "/cluster", "/brokers"] {
        delete(&person, gone).await;
    }
    follow_until(&metadata, |image| image.cluster_id().is_empty()).await;
    assert!(person.get("/cluster").await.unwrap().is_none());
}

#[tokio::test]
async fn a_tree_without_its_marker_and_id_is_known_by_the_registration_of_a_session() {
    let (metadata, _store, person) = start().await;
    for deleted in ["/streamlog", "/cluster"] {
        delete(&person, deleted).await;
    }
    for path in ["/streamlog", "/cluster/id", "/streamlog/brokers/1", "/streamlog/sessions/1"] {
        follow_until_there(&metadata, &person, path).await;
    }
    create(&metadata, "views").await;
    for deleted in ["/streamlog", "/cluster"] {
        delete(&person, deleted).await;
    }
    let id = metadata.current_image().cluster_id().to_owned();
    restore_tree(&person, &id).await.unwrap();
    assert!(person.get("/streamlog").await.unwrap().is_none(), "restored by another session");
}

#[tokio::test]
async fn a_cluster_id_that_was_unreadable_for_a_while_ends_no_broker() {
    let (metadata, store, person) = start().await;
    let id = person.get("/cluster/id").await.unwrap().unwrap().value;
    edit(&person, "/cluster/id", "{").await;
    store.disconnect();
    store.reconnect();
    follow_until(&metadata, |image| !image.broken().is_empty()).await;
    edit(&person, "/cluster/id", str::from_utf8(&id).unwrap()).await;
    store.disconnect();
    store.expire();
    store.reconnect();
    follow_until(&metadata, |image| epoch(image, "clicks", 0) > Some(LeaderEpoch(0))).await;
}

#[tokio::test]
async fn a_broker_that_starts_creates_the_directories_of_its_tree_again() {
    for deleted in ["/brokers/ids", "/config/topics", "/admin/deleted_topics", "/admin"] {
        let (earlier, store, person) = start().await;
        let id = earlier.current_image().cluster_id().to_owned();
        store.expire();
        delete(&person, deleted).await;
        for claimed in [None, Some(&*id)] {
            let handle: Arc<dyn Store> = Arc::new(store.another());
            let config = MetadataConfig::default();
            let broker = Metadata::open(handle, clock(), BrokerId(2), claimed, config);
            let broker = broker.await.unwrap();
            broker.register(&Registration::default()).await.unwrap();
            let topic = NewTopic::named("views".parse().unwrap());
            let topic = broker.create_topic(&topic, &|_, _| Ok(())).await.unwrap();
            broker.delete_topic(topic).await.unwrap();
            broker.leave().await.unwrap();
            if claimed.is_none() {
                delete(&person, deleted).await;
            }
        }
    }
}

#[tokio::test]
async fn the_tree_of_another_cluster_is_left_as_it_is() {
    let (_broker, _, person) = start().await;
    delete(&person, "/admin").await;
    restore_tree(&person, "another").await.unwrap();
    assert!(person.get("/admin").await.unwrap().is_none());
}

#[tokio::test]
async fn a_tree_without_its_marker_is_known_by_the_id_of_the_cluster() {
    let (broker, _, person) = start().await;
    let id = broker.current_image().cluster_id().to_owned();
    for (deleted, is_known) in [("/streamlog", true), ("/cluster", false)] {
        delete(&person, deleted).await;
        assert_eq!(has_cluster(&person, &id).await.unwrap(), is_known);
        assert!(!has_cluster(&person, "another").await.unwrap());
    }
}
