//! The conduct of a leader that was elected after the wait for other replicas, and is not believed
//! yet (rule R21 in docs/replication.md).

use super::schedule_tests::NOW;
use super::truncation_faults_tests::{Pair, RECORDS};
use crate::replication::{
    Deletion, EndUnknown, Partition, PartitionError, ReadRequest, Reader, Rule, Rules,
    TooFewReplicas,
};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// The leader epoch of the leader that is not believed.
const EPOCH: LeaderEpoch = LeaderEpoch(2);

/// A pair whose leader follows these rules, and is not believed.
fn unvouched(rules: Rules) -> Pair {
    let mut pair = Pair::new();
    pair.leader.follow_rules(rules);
    pair.lead_unvouched(EPOCH);
    pair.leader.partition.flushed(Offset::new(RECORDS));
    assert_eq!(pair.leader.partition.high_watermark(), Offset::new(RECORDS));
    pair
}

/// Reads as a consumer. Returns whether it finds records, and whether it learns where they end.
fn finds(partition: &Partition, offset: i64) -> Result<(bool, bool), PartitionError> {
    let answer = partition.read(ReadRequest {
        reader: Reader::Consumer,
        offset,
        max_bytes: 1 << 20,
        at_least_one_batch: true,
        shows_gap: false,
    })?;
    Ok((answer.records.is_some(), answer.tells_end))
}

/// The results of all that would tell a reader where the records end.
fn tell_end(partition: &Partition) -> Vec<Result<(), PartitionError>> {
    let after = Timestamp::from_millis(NOW.millis() + 1);
    vec![
        finds(partition, RECORDS).map(drop),
        partition.latest().map(drop),
        partition.latest_by_time().map(drop),
        partition.first_at(after).map(drop),
        partition.epoch_end(LeaderEpoch(0)).map(drop),
        partition.epoch_end(EPOCH).map(drop),
    ]
}

fn is_unvouched(error: &PartitionError) -> bool {
    let end = Offset::new(RECORDS);
    matches!(error, PartitionError::OffsetNotAvailable(EndUnknown::Unvouched { end: told })
        if *told == end)
}

#[test]
fn a_leader_that_is_not_believed_appends_nothing_until_the_state_says_otherwise() {
    let pair = unvouched(Rules::ALL);
    let append = || pair.leader.partition.lead().and_then(|()| pair.try_append(0));
    let refused = append().unwrap_err();
    let unvouched_alone = PartitionError::NotEnoughReplicas(TooFewReplicas::Unvouched);
    assert_eq!(refused.to_string(), unvouched_alone.to_string());
    pair.lead_alone(EPOCH, 1);
    append().unwrap();
    let without = unvouched(Rules::ALL.without(Rule::UnvouchedAppendsNothing));
    without.leader.partition.lead().unwrap();
    without.try_append(0).unwrap();
}

#[test]
fn a_leader_that_is_not_believed_shows_records_but_not_where_they_end() {
    let pair = unvouched(Rules::ALL);
    let leader = &pair.leader.partition;
    for offset in [0, RECORDS - 1] {
        assert_eq!(finds(leader, offset).unwrap(), (true, false), "at {offset}");
    }
    assert_eq!(leader.first_at(NOW).unwrap().map(|found| found.offset), Some(Offset::ZERO));
    for told in tell_end(leader) {
        assert!(is_unvouched(told.as_ref().unwrap_err()), "{told:?}");
    }
    // Readers of another replica may have come further.
    assert!(is_unvouched(&finds(leader, RECORDS + 5).unwrap_err()));
    pair.lead_alone(EPOCH, 1);
    assert_eq!(finds(leader, 0).unwrap(), (true, true));
    assert!(tell_end(leader).iter().all(Result::is_ok), "{:?}", tell_end(leader));
    let beyond = finds(leader, RECORDS + 5);
    assert!(matches!(beyond, Err(PartitionError::OffsetOutOfRange { .. })), "{beyond:?}");

    let without = unvouched(Rules::ALL.without(Rule::UnvouchedTellsNoEnd));
    assert_eq!(finds(&without.leader.partition, 0).unwrap(), (true, true));
    let told = tell_end(&without.leader.partition);
    assert!(told.iter().all(Result::is_ok), "{told:?}");
}

#[test]
fn a_leader_that_is_not_believed_deletes_no_records_and_skips_no_damage() {
    let pair = unvouched(Rules::ALL);
    let partition = pair.leader.partition.clone();
    let skipped = partition.skip_damage(Offset::ZERO..Offset::new(3), "a test", 0);
    assert!(is_unvouched(&skipped.unwrap_err()));
    let deletion = Deletion { partition, before: Some(3) };
    let deleted = pair.leader.logs.delete_records(&[deletion]).unwrap();
    assert!(is_unvouched(deleted[0].as_ref().unwrap_err()));
    assert_eq!(pair.leader.partition.log_start_offset(), Offset::ZERO);
}
