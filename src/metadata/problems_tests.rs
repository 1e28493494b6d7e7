//! The problems that the metadata shows, on a simulated cluster.

use crate::metadata::controller::cluster_tests::{Cluster, name};
use crate::metadata::layout::NodePath;
use crate::metadata::{Problem, problems};
use crate::types::{BrokerId, PartitionIndex};

/// A cluster of three brokers with one partition on all of them.
fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    for id in 1..=3 {
        cluster.ended(id, i64::from(id));
        cluster.broker(id, i64::from(id) * 10);
    }
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster
}

/// The problems, as "words => remedy".
fn found(cluster: &mut Cluster) -> Vec<String> {
    let told = |problem: Problem| {
        let place = problem.partition.map(|partition| format!("{partition}: "));
        format!("{}{} => {}", place.unwrap_or_default(), problem.words, problem.remedy)
    };
    problems(&cluster.image()).into_iter().map(told).collect()
}

const GONE: &str = "start brokers {} with the data directories that they had; or, if these are \
                    gone, see what would be lost: streamlog partition elect clicks-0";

fn gone(brokers: &str) -> String {
    GONE.replace("{}", brokers)
}

#[test]
fn a_cluster_with_all_replicas_in_sync_has_none() {
    assert_eq!(found(&mut cluster()), Vec::<String>::new());
}

#[test]
fn a_broker_that_is_away_and_its_replica_are_named() {
    let mut cluster = cluster();
    cluster.broker_gone(3);
    cluster.settle();
    let broker = "broker 3 does not run => start it, or forget it: streamlog cluster unregister 3";
    let start = "clicks-0: the replicas on brokers 3 are not in sync => start brokers 3";
    assert_eq!(found(&mut cluster), [broker, start]);
    cluster.broker(3, 31);
    let wait = "clicks-0: the replicas on brokers 3 are not in sync => wait; if it lasts, read \
                the log of brokers 3";
    assert_eq!(found(&mut cluster), [wait]);
}

#[test]
fn a_partition_without_a_leader_names_the_brokers_it_waits_for() {
    let mut cluster = cluster();
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker(1, 11);
    let told = found(&mut cluster).pop().unwrap();
    let words = "clicks-0: it has no leader until more of the brokers 1, 2, 3 return => ";
    assert_eq!(told, format!("{words}{}", gone("2, 3")));
}

#[test]
fn replicas_that_have_all_lost_records_leave_the_decision_to_a_person() {
    let mut cluster = cluster();
    let topic = cluster.image().topic(&name()).unwrap().id;
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    for id in 1..=3 {
        cluster.broker_with_loss(id, i64::from(id) * 10 + 1, topic);
    }
    cluster.settle();
    let told = found(&mut cluster);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("of brokers 1, 2, 3, have lost records of it"), "{told:?}");
    assert!(told[0].ends_with("streamlog partition elect clicks-0"), "{told:?}");
}

#[test]
fn a_leader_that_is_not_believed_yet_names_the_brokers_that_may_have_more() {
    let mut cluster = cluster();
    let topic = cluster.image().topic(&name()).unwrap().id;
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    cluster.wait(0);
    cluster.wait(30);
    cluster.settle();
    let told = found(&mut cluster).pop().unwrap();
    let words = "clicks-0: its leader was elected after the wait for brokers 2, 3, which may have \
                 more records: it takes none => ";
    assert_eq!(told, format!("{words}{}", gone("2, 3")));
}

#[test]
fn nodes_that_were_edited_or_deleted_are_named() {
    let mut cluster = cluster();
    let state = NodePath::PartitionState(name(), PartitionIndex(0));
    cluster.put(&state, "{", 7, 1);
    let told = found(&mut cluster);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(&format!("node {state} cannot be read: ")), "{told:?}");
    cluster.delete(&state);
    let deleted = format!(
        "clicks-0: its state, node {state}, was deleted by hand => restore the node, with the \
         leader epoch that it had or a higher one; or, if nobody has a copy: streamlog partition \
         rebuild-state clicks-0"
    );
    assert_eq!(found(&mut cluster), [deleted]);
    let known = NodePath::KnownBroker(BrokerId(2));
    cluster.put(&known, "?", 9, 1);
    assert!(found(&mut cluster).iter().any(|told| told.contains(&known.to_string())));
}
