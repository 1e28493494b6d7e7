//! What runs the tasks of a broker: its process, which faults pause and end.

use std::pin::Pin;
use std::sync::{Arc, Weak};

use streamlog::broker::Scheduler;
use streamlog::replication::Partition;
use streamlog::types::Offset;

use crate::broker::Broker;
use crate::ensemble::index;
use crate::machine::Process;
use crate::world::World;

/// The scheduler of a broker, in a process.
pub(super) struct ProcessScheduler {
    world: Weak<World>,
    machine: usize,
    process: Weak<Process>,
}

/// A replica before work that may truncate it.
struct Before {
    partition: Arc<Partition>,
    end: Offset,
    epochs: usize,
}

impl ProcessScheduler {
    pub(super) fn new((world, machine): (&Arc<World>, usize), process: &Arc<Process>) -> Self {
        Self { world: Arc::downgrade(world), machine, process: Arc::downgrade(process) }
    }
}

impl Scheduler for ProcessScheduler {
    fn start(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        if let Some(process) = self.process.upgrade() {
            process.start(task);
        }
    }

    /// Does the work at once, and notes the truncations that it makes.
    fn block(&self, work: Box<dyn FnOnce() + Send>) {
        let process = self.process.upgrade();
        let broker = process.as_ref().and_then(|process| process.broker.get());
        let replicas = broker.map(|broker| broker.replicas()).unwrap_or_default();
        let before: Vec<Before> = replicas.into_iter().map(Before::of).collect();
        work();
        if let (Some(world), Some(broker)) = (self.world.upgrade(), broker) {
            for replica in &before {
                replica.note_truncation((&world, self.machine), broker);
            }
        }
    }
}

impl Before {
    fn of(partition: Arc<Partition>) -> Self {
        let (end, epochs) = (log_end(&partition), epochs_of(&partition));
        Self { partition, end, epochs }
    }

    fn note_truncation(&self, (world, machine): (&World, usize), broker: &Broker) {
        let end = log_end(&self.partition);
        if end >= self.end {
            return;
        }
        let id = self.partition.id();
        let numbers = [index(machine), id.partition.0.into(), end.get()];
        world.note("truncated", &numbers);
        if broker.is_flushing(id) {
            world.note("truncated during a flush", &numbers);
        }
        if epochs_of(&self.partition) + 2 <= self.epochs {
            world.note("walked back over two epochs", &numbers);
        }
    }
}

/// The number of leader epochs in a log.
fn epochs_of(partition: &Partition) -> usize {
    let log = partition.log();
    log.and_then(|log| log.epochs().entries().ok()).map_or(0, |entries| entries.len())
}

fn log_end(partition: &Partition) -> Offset {
    partition.log().map_or(Offset::ZERO, |log| log.log_end_offset())
}
