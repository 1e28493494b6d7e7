//! A follower whose leader epoch changes while it flushes fetched records, and one that fetches
//! what compaction has left.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::schedule_tests::NOW;
use super::truncation_faults_tests::{Pair, RECORDS};
use crate::record::{
    Batch, BatchBuilder, BatchRewriter, BatchSettings, Compressor, HeaderMut, ProducerStamp,
};
use crate::storage::{CleanupPolicy, LogConfig};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

#[test]
fn a_new_leader_epoch_does_not_end_the_wait_for_a_flush() {
    let pair = Pair::new();
    pair.append();
    pair.fetch();
    let follower = &pair.follower.partition;
    let mut all_stored = pin!(follower.all_stored());
    let mut context = Context::from_waker(Waker::noop());
    assert!(all_stored.as_mut().poll(&mut context).is_pending());
    pair.begin_epoch(2);
    assert!(all_stored.as_mut().poll(&mut context).is_pending());
    pair.follower.flush();
    assert!(all_stored.as_mut().poll(&mut context).is_ready());
    let next = follower.follower_position().unwrap().unwrap().position;
    assert_eq!(next.flushed, next.offset);
}

/// A batch of a producer without its record, as compaction leaves it, in the leader epoch 1.
fn emptied(base_offset: i64) -> Vec<u8> {
    let stamp = ProducerStamp { id: ProducerId(7), epoch: ProducerEpoch(0), base_sequence: 4 };
    let settings = BatchSettings { producer: Some(stamp), ..BatchSettings::default() };
    let mut builder = BatchBuilder::new();
    builder.push(NOW, Some(b"k"), Some(b"old"), &[]).unwrap();
    let mut batch = builder.build(&settings, &mut Compressor::none()).unwrap();
    let mut header = HeaderMut::of_batch(&mut batch).unwrap();
    header.set_base_offset(Offset::new(base_offset));
    header.set_leader_epoch(LeaderEpoch(1));
    let rewriter = BatchRewriter::new(Batch::parse(&batch).unwrap(), None);
    rewriter.finish(&mut Compressor::none()).unwrap()
}

#[test]
fn a_follower_gets_the_batches_that_compaction_has_emptied_and_knows_their_producers() {
    let pair = Pair::new();
    let (leader, follower) = (&pair.leader.partition, &pair.follower.partition);
    let cleanup_policy = CleanupPolicy { compact: true, delete: false };
    for partition in [leader, follower] {
        let config = LogConfig { cleanup_policy, ..LogConfig::clone(&partition.config()) };
        partition.set_config(Arc::new(config));
    }
    leader.lead().unwrap();
    let batch = emptied(RECORDS);
    leader.log().unwrap().append_fetched(&batch, LeaderEpoch(1)).unwrap();
    pair.append();
    pair.fetch();
    let known = [leader, follower].map(|partition| {
        let log = partition.log().unwrap();
        log.tail().active_producers().unwrap()
    });
    assert_eq!(known[0].len(), 1);
    assert_eq!(known[1], known[0]);
}
