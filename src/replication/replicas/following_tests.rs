//! A follower whose leader epoch changes while it flushes fetched records, and one that fetches
//! what compaction has left.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::schedule_tests::NOW;
use super::truncation_faults_tests::{COMMON, Pair, RECORDS};
use crate::io::faulty::{Failure, Fault, Operation};
use crate::record::{
    Batch, BatchBuilder, BatchRewriter, BatchSettings, Compressor, HeaderMut, ProducerStamp,
};
use crate::replication::{
    FetchAnswer, FetchOutcome, Fetched, FollowerError, Partition, take_all_fetched,
};
use crate::storage::{CleanupPolicy, HighWatermarks, LogConfig};
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

/// A leader's answer that a follower diverges after the common records.
fn diverging(partition: &Arc<Partition>) -> FetchAnswer {
    let position = partition.follower_position().unwrap().unwrap().position;
    let (epoch, end) = (LeaderEpoch(0), Offset::new(COMMON));
    let outcome = FetchOutcome::Diverging { epoch, end };
    FetchAnswer { position, outcome, high_watermark: Offset::ZERO, log_start: Offset::ZERO }
}

/// Lets these partitions take such answers, `at_once` together.
fn truncate(partitions: &[Arc<Partition>], at_once: usize) -> Vec<Result<(), FollowerError>> {
    let answers: Vec<_> = partitions.iter().map(diverging).collect();
    let fetched = partitions.iter().zip(&answers);
    let fetched: Vec<_> =
        fetched.map(|(partition, answer)| Fetched { partition, answer, records: &[] }).collect();
    fetched.chunks(at_once).flat_map(take_all_fetched).collect()
}

#[test]
fn logs_that_are_truncated_together_share_one_write_of_their_checkpoint() {
    let renamed = |at_once| {
        let pair = Pair::new();
        let partitions = [1, 2, 3].map(|number| pair.another(number));
        pair.follower.logs.data.checkpoint(&HighWatermarks::new()).unwrap();
        let before = pair.follower.disk.calls(Operation::Rename);
        for (partition, result) in partitions.iter().zip(truncate(&partitions, at_once)) {
            result.unwrap();
            assert_eq!(partition.log().unwrap().log_end_offset(), Offset::new(COMMON));
        }
        pair.follower.disk.calls(Operation::Rename) - before
    };
    let together = renamed(3);
    assert!(together > 0);
    assert_eq!(renamed(1), 3 * together);
}

#[test]
fn after_a_failed_write_of_the_checkpoint_each_log_but_the_first_is_truncated_alone() {
    let pair = Pair::new();
    let partitions = [pair.follower(), pair.another(1), pair.another(2)];
    pair.follower.logs.data.checkpoint(&HighWatermarks::new()).unwrap();
    let fault = Fault::new(Operation::Rename, Failure::InputOutput).at_call(1);
    pair.follower.disk.inject(fault);
    let results = truncate(&partitions, 3);
    let [Err(first), Ok(()), Ok(())] = &results[..] else { panic!("{results:?}") };
    assert!(!first.leaves_disk_unknown());
    let next = partitions.map(|it| it.follower_position().unwrap().unwrap().position.offset);
    assert_eq!(next.map(Offset::get), [RECORDS, COMMON, COMMON]);
}

#[test]
fn after_a_failed_sync_no_other_log_is_truncated() {
    for call in 1.. {
        let pair = Pair::new();
        let partitions = [pair.follower(), pair.another(1), pair.another(2)];
        pair.follower.logs.data.checkpoint(&HighWatermarks::new()).unwrap();
        let fault = Fault::new(Operation::SyncDir, Failure::InputOutput).at_call(call);
        pair.follower.disk.inject(fault);
        let results = truncate(&partitions, 3);
        let Some(failed) = results.iter().position(Result::is_err) else {
            assert!(call > 3, "the checkpoint and each log are synced");
            return;
        };
        for (place, (result, partition)) in results.iter().zip(&partitions).enumerate() {
            let end = partition.log().map(|log| log.log_end_offset().get());
            if place < failed {
                assert_eq!((result.is_ok(), end), (true, Some(COMMON)), "call {call}");
            } else {
                assert!(result.as_ref().unwrap_err().leaves_disk_unknown(), "{result:?}");
            }
            assert!(place <= failed || end == Some(RECORDS), "call {call}: it was left alone");
        }
    }
}
