//! Tests of the preparation of repairs, and of the decision to fetch a whole log again.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use super::RefusedAgain;
use crate::io::{Disk, OpenMode, read_exact_at, write_all_at};
use crate::replication::replicas::truncation_faults_tests::{Pair, RECORDS};
use crate::storage::LogConfig;
use crate::types::Offset;

/// Flips a bit of the first record in the last segment of a log.
fn rot(disk: &dyn Disk, dir: &Path) {
    let paths = disk.list(dir).unwrap().into_iter().map(|entry| dir.join(entry.name));
    let segments = paths.filter(|path| path.extension().is_some_and(|kind| kind == "log"));
    let file = disk.open(&segments.max().unwrap(), OpenMode::Write).unwrap();
    let mut byte = [0];
    read_exact_at(&*file, &mut byte, 65).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(&[byte[0] ^ 1])], 65).unwrap();
}

/// A pair whose replicas both have damage in the segment that they append to.
fn damaged() -> Pair {
    let pair = Pair::new();
    for broker in [&pair.leader, &pair.follower] {
        rot(&broker.disk, broker.log().unwrap().dir());
        broker.partition.locate_damage(Offset::new(RECORDS - 1)).unwrap();
        assert!(broker.partition.has_damage());
        assert_eq!(broker.partition.repairable_segments().unwrap(), []);
    }
    pair
}

#[test]
fn a_follower_closes_the_damaged_segment_that_it_appends_to_once() {
    let pair = damaged();
    let follower = &pair.follower.partition;
    assert!(follower.close_damaged_segment().unwrap());
    assert!(!follower.close_damaged_segment().unwrap());
    let [found] = follower.repairable_segments().unwrap().try_into().unwrap();
    assert!(found.wanted < Offset::new(RECORDS));
    assert!(!pair.leader.partition.close_damaged_segment().unwrap(), "it hands over first");
    pair.leader.partition.lead().unwrap();
    pair.try_append(0).unwrap();
    pair.fetch();
    assert_eq!(follower.log().unwrap().log_end_offset(), Offset::new(RECORDS + 1));
    pair.leader.stop();
    pair.follower.stop();
}

/// Checks that no segment of the damaged follower is repaired by itself.
fn check_fetched_as_a_whole(pair: &Pair) {
    let follower = &pair.follower.partition;
    assert!(follower.is_fetched_as_a_whole().unwrap());
    assert!(!follower.close_damaged_segment().unwrap());
    assert_eq!(follower.repairable_segments().unwrap(), []);
    pair.leader.stop();
    pair.follower.stop();
}

#[test]
fn the_damaged_segments_of_a_compacted_log_are_left_as_they_are() {
    let pair = damaged();
    let follower = &pair.follower.partition;
    let mut config = LogConfig::clone(&follower.config());
    config.cleanup_policy.compact = true;
    follower.set_config(Arc::new(config));
    check_fetched_as_a_whole(&pair);
}

#[test]
fn a_log_that_was_compacted_earlier_is_not_repaired_by_segments_either() {
    let pair = damaged();
    let follower = &pair.follower.partition;
    assert!(!follower.is_fetched_as_a_whole().unwrap());
    // Compaction has left gaps, and the policy was changed since.
    follower.log().unwrap().expect_gaps(Offset::new(1)).unwrap();
    check_fetched_as_a_whole(&pair);
}

#[test]
fn damage_below_the_log_start_does_not_count() {
    let pair = damaged();
    let follower = &pair.follower.partition;
    let log = follower.log().unwrap();
    let data = &follower.logs().data;
    data.advance_log_start(&log, Offset::new(RECORDS)).unwrap();
    assert!(!follower.has_damage());
    pair.leader.stop();
    pair.follower.stop();
}

#[test]
fn a_log_is_given_up_only_with_room_for_another_and_without_one_in_quarantine() {
    let pair = Pair::new();
    let follower = &pair.follower.partition;
    let data = Arc::clone(&follower.logs().data);
    let room = data.room().unwrap();
    follower.require_room_for_another(room.min(1000)).unwrap();
    let refused = follower.require_room_for_another(u64::MAX).unwrap_err();
    assert!(matches!(refused, RefusedAgain::NoRoom { size: u64::MAX, .. }), "{refused}");
    data.give_up_damaged(follower.id(), follower.topic_id()).unwrap();
    let refused = follower.require_room_for_another(0).unwrap_err();
    assert!(matches!(refused, RefusedAgain::Quarantined(_)), "{refused}");
}
