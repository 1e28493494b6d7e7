//! A disk that takes long over a sync while the role of a replica changes: whoever shares the
//! thread with requests, heartbeats or leases does not wait for it.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use super::schedule_tests::NOW;
use super::truncation_faults_tests::{Pair, RECORDS, Reason};
use crate::io::faulty::FaultyDisk;
use crate::metadata::Incarnation;
use crate::replication::{
    CountedFetch, FetchPosition, FetchingReplica, Floor, FollowerError, Partition, PartitionError,
};
use crate::storage::StorageError;
use crate::types::{BrokerId, LeaderEpoch, Offset};

const PATIENCE: Duration = Duration::from_secs(20);
/// The time between two looks whether a sync is held.
const LOOK: Duration = Duration::from_millis(5);

/// Runs `work`, which blocks on the disk, until its sync with this number is held, then does what
/// must not wait, and lets the sync go on. Returns the result of the work; `None` if it has fewer
/// syncs.
fn while_held<T: Send>(
    (disk, number): (&FaultyDisk, usize),
    work: impl FnOnce() -> T + Send,
    prompt: impl FnOnce() + Send,
) -> Option<T> {
    thread::scope(|scope| {
        let hold = disk.hold_sync_after(number);
        let working = scope.spawn(work);
        while !hold.wait_for(1, LOOK) {
            if working.is_finished() {
                return None;
            }
        }
        let (told, done) = sync_channel(1);
        scope.spawn(move || {
            prompt();
            told.send(()).unwrap();
        });
        let has_waited = done.recv_timeout(PATIENCE).is_err();
        drop(hold);
        let result = working.join().unwrap();
        assert!(!has_waited, "it waited for the disk");
        Some(result)
    })
}

/// Returns true unless an answer of the leader was refused for another reason than that its epoch
/// is over.
fn is_taken_or_late(taken: &Result<(), FollowerError>) -> bool {
    let Err(error) = taken else { return true };
    let FollowerError::Partition(PartitionError::Storage(error)) = error else { return false };
    matches!(error, StorageError::EpochMismatch { .. })
}

/// A replica that learns of another epoch waits for nothing, and follows on once the disk is done.
fn check_turn(pair: &Pair) {
    pair.tell_epoch(4);
    let follower = &pair.follower.partition;
    assert_eq!(follower.epoch(), LeaderEpoch(4));
    let _ = (follower.is_open(), follower.is_loaded(), follower.high_watermark());
    pair.follower.log().unwrap().epochs().entries().unwrap();
}

#[test]
fn the_role_changes_while_the_first_batch_of_an_epoch_waits_for_the_disk() {
    let mut held = 0;
    loop {
        let pair = Pair::new();
        pair.begin_epoch(3);
        pair.append();
        let disk = pair.follower.disk.clone();
        let fetched = while_held((&disk, held), || pair.try_fetch(), || check_turn(&pair));
        pair.begin_epoch(5);
        while pair.follower_end() < 2 * RECORDS {
            pair.fetch();
        }
        pair.follower.flush();
        let end = Offset::new(2 * RECORDS);
        assert!(pair.follower.bytes_below(end) == pair.leader.bytes_below(end));
        pair.leader.stop();
        pair.follower.stop();
        let Some(fetched) = fetched else { break };
        assert!(is_taken_or_late(&fetched), "{fetched:?}");
        held += 1;
    }
    assert!(held > 0, "nothing was synced");
}

#[test]
fn the_role_changes_while_a_truncation_waits_for_the_disk() {
    for reason in [Reason::Diverging, Reason::OutOfRange] {
        let mut held = 0;
        loop {
            let pair = Pair::new();
            let disk = pair.follower.disk.clone();
            let removed = while_held((&disk, held), || pair.remove(reason), || check_turn(&pair));
            pair.begin_epoch(5);
            pair.remove(reason).unwrap();
            pair.check(reason);
            pair.leader.stop();
            pair.follower.stop();
            let Some(removed) = removed else { break };
            assert!(is_taken_or_late(&removed), "{removed:?}");
            held += 1;
        }
        assert!(held > 2, "{reason:?} has only {held} syncs");
    }
}

#[test]
fn a_follower_fetches_while_the_leader_makes_its_epoch_durable() {
    let pair = Pair::new();
    pair.begin_epoch(3);
    let leader = &pair.leader.partition;
    let fetch = || {
        let incarnation = Incarnation(1);
        let replica = FetchingReplica {
            broker: BrokerId(1),
            incarnation,
            registered: Some(incarnation),
            follows: None,
        };
        let end = Offset::new(RECORDS);
        let position = FetchPosition {
            epoch: LeaderEpoch(3),
            offset: end,
            last_epoch: LeaderEpoch(0),
            flushed: end,
            floor: Floor::default(),
        };
        let counted = leader.follower_fetched(replica, &position, Duration::ZERO).unwrap();
        assert!(matches!(counted, CountedFetch::Counted { .. }), "{counted:?}");
        assert_eq!(leader.high_watermark(), end);
    };
    let disk = pair.leader.disk.clone();
    while_held((&disk, 0), || leader.lead(), fetch).expect("a sync").unwrap();
    assert!(leader.is_appendable());
    pair.leader.stop();
    pair.follower.stop();
}

/// A leader whose watermark is below the start of its epoch does not say which record is the last.
fn check_no_end(leader: &Partition) {
    let latest = leader.latest();
    assert!(latest.is_err(), "{latest:?}");
    let by_time = leader.latest_by_time();
    assert!(by_time.is_err(), "{by_time:?}");
}

#[test]
fn a_new_leader_tells_no_end_before_its_log_is_open_for_the_epoch() {
    let mut held = 0;
    loop {
        let pair = Pair::new();
        let follower = &pair.follower.partition;
        let ask = || {
            pair.follower_leads(LeaderEpoch(4));
            // The former leader may have shown more than this replica knows to be committed.
            check_no_end(follower);
        };
        let disk = pair.follower.disk.clone();
        let removed = while_held((&disk, held), || pair.remove(Reason::Diverging), ask);
        follower.open().unwrap();
        if removed.is_some() {
            check_no_end(follower);
            let first = follower.first_at(NOW);
            assert!(first.is_err(), "{first:?}");
        }
        pair.leader.stop();
        pair.follower.stop();
        if removed.is_none() {
            break;
        }
        held += 1;
    }
    assert!(held > 2, "only {held} syncs");
}
