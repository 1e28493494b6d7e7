//! The return of partitions to their preferred leaders.
//!
//! The first replica of a partition is its preferred leader. Once it is in sync again, the broker
//! that leads meanwhile hands the partition over, a few at a time: each hand-over makes producers
//! wait for some milliseconds. A replica that has handed over because of damage does not get the
//! partition back unless a request asks for it. Partitions named in an `ElectLeaders` request come
//! first, and move even if `auto.leader.rebalance.enable` is off.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::engine::{EngineState, Unavailable};
use crate::metadata::Image;
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::config::REBALANCE;
use crate::replica_manager::hand_overs::elections::Elections;
use crate::replica_manager::hand_overs::moves::{Move, hand_over, moves};
use crate::types::PartitionKey;

/// The maximum number of partitions that are handed over together.
const AT_ONCE: usize = 8;
/// The pause before hand-overs that no request asked for.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause after a hand-over that has failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The task that hands partitions over to their preferred leaders.
pub(in crate::replica_manager) struct PreferredLeaders {
    pub(in crate::replica_manager) engine: Arc<EngineState>,
    /// The settings with which the broker was started.
    pub(in crate::replica_manager) config: ReplicaConfig,
    /// The partitions that were asked for.
    pub(in crate::replica_manager) elections: Arc<Elections>,
}

/// The partitions whose preferred leaders may lead again.
#[derive(Default)]
struct Due {
    /// The moves that a request has asked for.
    asked: Vec<Move>,
    /// The moves that no request has asked for.
    others: Vec<Move>,
}

impl PreferredLeaders {
    /// Hands partitions over until the broker stops.
    pub(in crate::replica_manager) async fn run(self) {
        let stopping = self.engine.stopping.clone();
        // When the engine stops, `resignation.rs` has already tried to hand over everything.
        let _ = stopping.run_until_cancelled(self.return_all()).await;
    }

    async fn return_all(&self) -> Result<(), Unavailable> {
        let mut applied = self.engine.applied.subscribe();
        let mut turn = 0;
        loop {
            applied.mark_unchanged();
            let due = self.due();
            if due.is_empty() {
                tokio::select! {
                    biased;
                    changed = applied.changed() => if changed.is_err() {
                        return Ok(());
                    },
                    () = self.elections.changed() => {}
                }
                continue;
            }
            if due.asked.is_empty() && self.elections.changed_within(PAUSE).await {
                continue;
            }
            let led_on = hand_over(&self.engine, due.some(turn)).await?;
            if led_on > 0 {
                turn = turn.wrapping_add(AT_ONCE);
                self.elections.changed_within(PAUSE_AFTER_FAILURE).await;
            }
        }
    }

    /// The partitions that are due. None while this broker stops: `resignation.rs` chooses the
    /// successors then.
    fn due(&self) -> Due {
        let (me, image) = (self.engine.config.broker_id, self.engine.image());
        if image.broker(me).is_none_or(|broker| broker.registration.is_stopping) {
            return Due::default();
        }
        let moves = moves(&self.engine, &image, |partition| {
            let preferred = *partition.replicas.first()?;
            (preferred != me && image.may_take_over(partition, preferred)).then_some(preferred)
        });
        self.elections.retain(self.engine.clock.monotonic(), |PartitionKey { topic, index }| {
            let partition = image.topic_by_id(*topic).and_then(|topic| topic.partition(*index));
            partition.is_some_and(|partition| partition.leader() == Some(me))
        });
        let keys: Vec<PartitionKey> = moves.iter().map(|step| step.partition.key()).collect();
        let are_asked = self.elections.are_asked(keys.iter());
        let mut due = Due::default();
        for (step, is_asked) in moves.into_iter().zip(are_asked) {
            let list = if is_asked { &mut due.asked } else { &mut due.others };
            list.push(step);
        }
        if !self.is_automatic(&image) {
            due.others.clear();
        }
        due.others.retain(|Move { partition, to }| {
            let id = partition.id();
            let known = image.partition(&id.topic, id.partition);
            known.is_some_and(|known| !image.is_damaged(known, *to))
        });
        due
    }

    /// The current value of `auto.leader.rebalance.enable`, which can be changed while the broker
    /// runs.
    fn is_automatic(&self, image: &Image) -> bool {
        let mut config = self.config.clone();
        for broker in [None, Some(self.engine.config.broker_id)] {
            let value = image.broker_configs(broker).and_then(|configs| configs.get(REBALANCE));
            // The value was validated when it was written, but possibly by a later release. An
            // invalid value leaves the previous one in force.
            value.map(|value| config.set_named(REBALANCE, value));
        }
        config.auto_rebalance
    }
}

impl Due {
    fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.others.is_empty()
    }

    /// At most `AT_ONCE` moves, requested ones first. Each list is rotated by `turn`, so that a few
    /// moves that keep failing do not hold up the rest.
    fn some(self, turn: usize) -> Vec<Move> {
        let Self { mut asked, mut others } = self;
        for moves in [&mut asked, &mut others] {
            let count = moves.len().max(1);
            moves.rotate_left(turn % count);
        }
        asked.into_iter().chain(others).take(AT_ONCE).collect()
    }
}
