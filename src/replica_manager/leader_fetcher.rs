//! The task that fetches from one leader all partitions in which this broker follows that leader.
//!
//! One fetch is under way at a time, and its answer is applied before the next is sent. So the size
//! of one answer bounds the memory for each leader. The fetch waits at the leader while there is
//! nothing new. If partitions are added meanwhile, the fetch is given up, so that they need not
//! wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::engine::{EngineState, Unavailable};
use crate::link::Connector;
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::followed::Followed;
use crate::replica_manager::leader_link::{Follower, LeaderLink};
use crate::replica_manager::replicas::Replicas;
use crate::types::BrokerId;

/// The pause while this broker is not registered.
const UNREGISTERED_PAUSE: Duration = Duration::from_millis(100);

/// The task of one leader.
pub(super) struct LeaderFetcher {
    engine: Arc<EngineState>,
    followed: watch::Receiver<Arc<Followed>>,
    /// The last value of `followed` that was taken.
    current: Arc<Followed>,
    link: LeaderLink,
    replicas: Replicas,
}

impl LeaderFetcher {
    /// A task that fetches from `leader` the partitions that `followed` shows.
    pub(super) fn new(
        engine: Arc<EngineState>,
        leader: BrokerId,
        mut followed: watch::Receiver<Arc<Followed>>,
        connector: Connector,
        config: ReplicaConfig,
    ) -> Self {
        followed.mark_changed();
        let replicas = Replicas::new(leader, config.backoff, Arc::clone(&engine.failure));
        let link = LeaderLink::new(leader, connector, config, Arc::clone(&engine.clock));
        Self { engine, followed, current: Arc::default(), link, replicas }
    }

    /// Fetches until this broker follows no partition of the leader any more, or stops.
    pub(super) async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        let fetching = async { while self.step().await.is_ok() {} };
        stopping.run_until_cancelled(fetching).await;
    }

    /// Makes an exchange with the leader, or waits until one is due.
    async fn step(&mut self) -> Result<(), Unavailable> {
        if self.followed.has_changed().map_err(|_| Unavailable)? {
            self.current = Arc::clone(&self.followed.borrow_and_update());
            self.replicas.follow(&self.current.partitions);
        }
        let control = &self.engine.control;
        let now = self.engine.clock.monotonic();
        self.replicas.find_positions(control, now).await?;
        for partition in self.replicas.unreadable() {
            self.engine.losses.note_unreadable(&self.engine.image(), partition);
        }
        if self.replicas.positions().is_empty() {
            let due = self.replicas.next_due(now).unwrap_or(Duration::MAX);
            return self.rest(due.saturating_sub(now)).await;
        }
        let Some(membership) = self.engine.metadata.membership() else {
            return self.rest(UNREGISTERED_PAUSE).await;
        };
        let follower = Follower { broker: self.engine.config.broker_id, membership };
        let additions = additions(self.followed.clone(), Arc::clone(&self.current));
        let address = self.current.address.as_ref();
        let answer = tokio::select! {
            biased;
            answer = self.link.fetch(address, follower, &mut self.replicas) => answer,
            () = additions => None,
        };
        let Some(answer) = answer else {
            self.link.give_up();
            return Ok(());
        };
        let now = self.engine.clock.monotonic();
        self.replicas.take(answer, self.link.session(), control, now).await?;
        if let Some(question) = self.replicas.ask_for_gaps()
            && let Some(answer) = self.link.ask(&question).await
        {
            self.replicas.explain_gaps(&answer, control).await?;
        }
        Ok(())
    }

    /// Waits, at most until the partitions change.
    async fn rest(&mut self, pause: Duration) -> Result<(), Unavailable> {
        tokio::select! {
            biased;
            changed = self.followed.changed() => {
                self.followed.mark_changed();
                changed.map_err(|_| Unavailable)
            }
            () = sleep(pause) => Ok(()),
        }
    }
}

/// Waits until partitions are added that were not among those `before`, or begin another leader
/// epoch, or until this broker follows none of the leader's partitions any more.
async fn additions(mut followed: watch::Receiver<Arc<Followed>>, before: Arc<Followed>) {
    while followed.changed().await.is_ok() {
        let now = followed.borrow_and_update();
        if now.partitions.iter().any(|(key, now)| before.partitions.get(key) != Some(now)) {
            return;
        }
    }
}
