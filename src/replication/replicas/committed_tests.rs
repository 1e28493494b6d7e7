//! Records that are committed before the in-sync set falls below its minimum.

use super::truncation_faults_tests::{Pair, RECORDS};
use crate::replication::{Acks, PartitionError, Target};
use crate::types::{LeaderEpoch, Offset};

#[test]
fn committed_records_stay_so_when_too_few_replicas_are_in_sync() {
    let pair = Pair::new();
    let (leader, epoch) = (&pair.leader.partition, LeaderEpoch(2));
    let begin = pair.leader.log().unwrap().log_end_offset().get();
    pair.lead_alone(epoch, 1);
    pair.append();
    let end = Offset::new(begin + RECORDS);
    leader.flushed(end);
    assert_eq!(leader.high_watermark(), end);
    pair.lead_alone(epoch, 2);
    let acknowledged = leader.may_acknowledge(Target { epoch, next_offset: end, acks: Acks::All });
    assert!(matches!(acknowledged, Err(PartitionError::NotEnoughReplicas(_))));
    assert!(leader.is_committed(epoch, end).unwrap());
    assert!(!leader.is_committed(epoch, Offset::new(end.get() + 1)).unwrap());
    let ended = leader.is_committed(LeaderEpoch(1), end);
    assert!(matches!(ended, Err(PartitionError::EpochEnded { .. })));
}
