//! The work of the flusher's and of the maintenance threads. A flush takes time, before its sync
//! and after it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use streamlog::types::TopicPartition;
use tokio::time::sleep;

use crate::broker::Broker;
use crate::machine::locked;

/// The interval of looks at the flushes that are under way.
const LOOK: Duration = Duration::from_millis(2);

/// The flushes of a broker.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    under_way: Mutex<BTreeSet<TopicPartition>>,
    is_ending: AtomicBool,
}

impl Broker {
    /// Flushes what is due, each log in a task of its own.
    pub(super) async fn flush(self: Arc<Self>) {
        while !self.flushing.is_ending.load(Ordering::Relaxed) {
            sleep(self.world.millis(3, 15)).await;
            if self.logs().flusher.is_busy() {
                let flush_all = async |broker: Arc<Self>| while broker.flush_next().await {};
                self.world.machines[self.machine].handle(flush_all);
            }
        }
    }

    async fn flush_next(&self) -> bool {
        let pause = async |partition: &TopicPartition| {
            locked(&self.flushing.under_way).insert(partition.clone());
            sleep(self.sync_time()).await;
        };
        let flushed = self.logs().flusher.flush_next(pause).await;
        if let Some(partition) = &flushed {
            locked(&self.flushing.under_way).remove(partition);
        }
        flushed.is_some()
    }

    /// Half the time that a sync takes.
    fn sync_time(&self) -> Duration {
        if self.world.machines[self.machine].is_flushing_slowly.load(Ordering::Relaxed) {
            return self.world.millis(50, 2_000);
        }
        if self.world.chance(30) { self.world.millis(5, 400) } else { self.world.millis(0, 3) }
    }

    /// True while a log is being flushed.
    pub(super) fn is_flushing(&self, partition: &TopicPartition) -> bool {
        locked(&self.flushing.under_way).contains(partition)
    }

    /// Waits until all flushes have ended, and begins no other.
    pub(crate) async fn end_flushes(&self) {
        self.flushing.is_ending.store(true, Ordering::Relaxed);
        while !locked(&self.flushing.under_way).is_empty() {
            sleep(LOOK).await;
        }
    }

    /// Takes the steps of maintenance that are due.
    pub(super) async fn maintain(self: Arc<Self>) {
        loop {
            sleep(self.world.millis(10, 100)).await;
            self.logs().upkeep.run_due();
        }
    }
}
