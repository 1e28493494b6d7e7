//! The return of partitions to their preferred leaders.
//!
//! The first replica of a partition is its preferred leader. Once it is in sync again, the broker
//! that leads meanwhile hands the partition over, a few at a time: each hand-over makes producers
//! wait for some milliseconds.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::{EngineState, Unavailable};
use crate::replica_manager::hand_overs::{Move, hand_over, moves};

/// The maximum number of partitions that are handed over together.
const AT_ONCE: usize = 8;
/// The pause before partitions are handed over.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause after a hand-over that has failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Hands partitions over to their preferred leaders until the broker stops.
pub(super) async fn return_to_preferred_leaders(engine: Arc<EngineState>) {
    let stopping = engine.stopping.clone();
    // The engine stops: what is left to hand over has been.
    let _ = stopping.run_until_cancelled(return_all(&engine)).await;
}

async fn return_all(engine: &Arc<EngineState>) -> Result<(), Unavailable> {
    let mut applied = engine.applied.subscribe();
    let mut turn = 0;
    loop {
        applied.mark_unchanged();
        let mut due = due(engine);
        if due.is_empty() {
            if applied.changed().await.is_err() {
                return Ok(());
            }
            continue;
        }
        sleep(PAUSE).await;
        // So that no few partitions that fail again and again keep the others waiting.
        let count = due.len();
        due.rotate_left(turn % count);
        due.truncate(AT_ONCE);
        let led_on = hand_over(engine, due).await?;
        if led_on > 0 {
            turn = turn.wrapping_add(AT_ONCE);
            sleep(PAUSE_AFTER_FAILURE).await;
        }
    }
}

/// The partitions whose preferred leaders may lead again. None while this broker stops, which has
/// other successors.
fn due(engine: &EngineState) -> Vec<Move> {
    let (me, image) = (engine.config.broker_id, engine.image());
    if image.broker(me).is_none_or(|broker| broker.registration.is_stopping) {
        return Vec::new();
    }
    moves(engine, &image, |partition| {
        let preferred = *partition.replicas.first()?;
        (preferred != me && image.may_take_over(partition, preferred)).then_some(preferred)
    })
}
