//! An idempotent producer whose partition changes its leader.

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, ThreeBrokers};

const TOPIC: &str = "produced";

#[test]
fn an_idempotent_producer_neither_repeats_nor_skips_a_record_when_its_leaders_are_killed() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    for _ in 0..2 {
        load.await_more(200);
        let leader = cluster.leader(TOPIC);
        cluster.kill(leader);
        load.await_more(200);
        cluster.start_broker(leader);
        cluster.await_in_sync(TOPIC, &IDS);
    }
    let acknowledged = load.stop();

    let read = read_all(&cluster.client(), TOPIC);
    assert_kept(&acknowledged, &read);
    // The producer was told of no failure, so every number was stored, and once.
    let numbers: Vec<u64> = read.into_values().collect();
    assert_eq!(numbers, (0..acknowledged.len() as u64).collect::<Vec<_>>());
}
