//! A follower whose leader epoch changes while it flushes fetched records.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use super::truncation_faults_tests::Pair;

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
    assert_eq!(next.stored, next.offset);
}
