//! Hand-overs of partitions that this broker leads, carried through together.
//!
//! Each partition decides on its next step, and stays as it is if its hand-over fails. This module
//! makes the partitions take their steps.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::{EngineState, Unavailable};
use crate::metadata::{Image, Partition as PartitionImage};
use crate::replication::{HandOverProgress, Partition, Role};
use crate::types::{BrokerId, WithCauses};

/// The pause between two looks at the partitions that are handed over.
const PAUSE: Duration = Duration::from_millis(5);

/// A partition that this broker leads, and the broker that is to lead it.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) partition: Arc<Partition>,
    pub(super) to: BrokerId,
}

/// The moves of the partitions that this broker leads, to the brokers that `successor` returns for
/// their state in the image.
pub(super) fn moves(
    engine: &EngineState,
    image: &Image,
    successor: impl Fn(&PartitionImage) -> Option<BrokerId>,
) -> Vec<Move> {
    let topics = engine.partitions.topics();
    let led = topics.iter().flat_map(|topic| topic.led());
    let to_move = led.filter_map(|partition| {
        let topic = image.topic_by_id(partition.topic_id())?;
        let known = topic.partition(partition.id().partition)?;
        // The image may be newer than the partition's epoch.
        let is_current = known.leader_epoch() == partition.epoch();
        let to = successor(known).filter(|_| is_current)?;
        Some(Move { partition: Arc::clone(partition), to })
    });
    to_move.collect()
}

/// Hands partitions over, and waits until each has another leader or its hand-over has failed.
/// Returns the number of partitions that this broker still leads.
///
/// # Errors
/// If the broker stops meanwhile.
pub(super) async fn hand_over(
    engine: &Arc<EngineState>,
    moves: Vec<Move>,
) -> Result<usize, Unavailable> {
    let now = engine.clock.monotonic();
    let mut led_on = 0;
    let begun = engine.control.run_blocking(move || {
        let begin = |Move { partition, to }: Move| (partition.begin_hand_over(to, now), partition);
        moves.into_iter().map(begin).collect::<Vec<_>>()
    });
    let mut under_way = Vec::new();
    for (begun, partition) in begun.await? {
        match begun {
            Ok(true) => under_way.push(partition),
            Ok(false) => led_on += 1,
            Err(error) => {
                tracing::warn!("{} is not handed over: {}", partition.id(), WithCauses(&error));
                led_on += 1;
            }
        }
    }
    while !under_way.is_empty() {
        let now = engine.clock.monotonic();
        under_way.retain(|partition| match partition.continue_hand_over(now) {
            HandOverProgress::Ask(change) => {
                engine.in_sync_changes.request(change);
                true
            }
            HandOverProgress::Wait => true,
            HandOverProgress::Over => {
                if partition.role() == Role::Leader {
                    led_on += 1;
                    tracing::debug!("this broker stays the leader of {}", partition.id());
                }
                false
            }
        });
        sleep(PAUSE).await;
    }
    if led_on > 0 {
        // Restart the group coordinators that stopped because their partitions answered no request.
        engine.partitions_changed();
    }
    Ok(led_on)
}
