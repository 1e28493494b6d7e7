//! Brokers that are killed under load, and return.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, ThreeBrokers, others};
use crate::support::batch;

const TOPIC: &str = "replicated";
/// The topic of a client without idempotence.
const PLAIN: &str = "plain";

/// The longest time for which that client produces.
const PATIENCE: Duration = Duration::from_mins(3);

/// Kills the leader under load, and starts it again once another leads.
fn kill_and_restart_leader(cluster: &mut ThreeBrokers, load: &Load) {
    let leader = cluster.leader(TOPIC);
    cluster.kill(leader);
    cluster.await_in_sync(TOPIC, &others(leader));
    load.await_more(200);
    cluster.start_broker(leader);
    cluster.await_in_sync(TOPIC, &IDS);
}

#[test]
fn a_killed_leader_is_followed_by_another_and_no_acknowledged_record_is_lost() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 3);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(200);

    kill_and_restart_leader(&mut cluster, &load);
    load.await_more(200);
    let acknowledged = load.stop();

    assert_kept(&acknowledged, &read_all(&cluster.client(), TOPIC));
    cluster.await_in_sync(TOPIC, &IDS);
    cluster.assert_identical_logs(TOPIC, 3);
}

#[test]
fn no_acknowledged_record_is_lost_when_leaders_of_the_ensemble_and_of_partitions_are_killed() {
    let mut cluster = ThreeBrokers::start_on_ensemble(&[]);
    cluster.make_topic(TOPIC, 3);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(200);

    cluster.ensemble().kill_leader();
    load.await_more(200);
    // The other two elect a leader, and the brokers one of theirs by it.
    kill_and_restart_leader(&mut cluster, &load);
    let acknowledged = load.stop();

    assert_kept(&acknowledged, &read_all(&cluster.client(), TOPIC));
    cluster.assert_identical_logs(TOPIC, 3);
}

#[test]
fn a_follower_killed_under_load_leaves_the_in_sync_set_and_returns_with_the_same_log() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=2000"]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);

    cluster.make_topic(PLAIN, 1);
    let leaders = [cluster.leader(TOPIC), cluster.leader(PLAIN)];
    let follower = IDS.into_iter().find(|id| !leaders.contains(id)).unwrap();
    let mut plain = cluster.broker(leaders[1]).connect();
    let (is_over, deadline) = (AtomicBool::new(false), Instant::now() + PATIENCE);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
                plain.send_batch_to(PLAIN, batch([7]), -1).unwrap();
                let answer = plain.receive_offset().unwrap();
                answer.expect("a client without idempotence stores it again after an error");
            }
        });
        for _ in 0..2 {
            cluster.kill(follower);
            cluster.await_in_sync(TOPIC, &others(follower));
            load.await_more(100);
            cluster.start_broker(follower);
            cluster.await_in_sync(TOPIC, &IDS);
            load.await_more(100);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let acknowledged = load.stop();

    assert_kept(&acknowledged, &read_all(&cluster.client(), TOPIC));
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn a_follower_that_lags_leaves_the_in_sync_set_and_joins_it_again() {
    let cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);

    // Not the first broker, which is asked for the in-sync set.
    let follower = others(cluster.leader(TOPIC))[1];
    // Not long enough for the end of its session, of which the leader would hear.
    let paused = cluster.broker(follower).pause();
    cluster.await_in_sync(TOPIC, &others(follower));
    load.await_more(100);
    drop(paused);
    cluster.await_in_sync(TOPIC, &IDS);
    load.await_more(100);

    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}

#[test]
fn what_waits_for_a_follower_that_dies_is_acknowledged_in_the_same_leader_epoch() {
    let mut cluster = ThreeBrokers::start(&["zookeeper.session.timeout.ms=3000"]);
    cluster.make_topic(TOPIC, 1);
    let before = cluster.partitions(TOPIC).remove(0);
    let follower = others(before.leader_id)[0];
    let mut connection = cluster.broker(before.leader_id).connect();
    // While it fetches nothing, nothing is acknowledged.
    let paused = cluster.broker(follower).pause();
    connection.send_batch_to(TOPIC, batch([7]), -1).unwrap();
    cluster.kill(follower);
    drop(paused);
    let offset = connection.receive_offset().unwrap();
    assert_eq!(offset, Ok(0), "a client without idempotence would send it again");
    cluster.await_in_sync(TOPIC, &others(follower));
    let after = cluster.partitions(TOPIC).remove(0);
    assert_eq!((after.leader_id, after.leader_epoch), (before.leader_id, before.leader_epoch));
    cluster.start_broker(follower);
    cluster.await_in_sync(TOPIC, &IDS);
    cluster.assert_identical_logs(TOPIC, 1);
}
