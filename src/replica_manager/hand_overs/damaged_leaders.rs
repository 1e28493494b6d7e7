//! The hand-over of partitions that this broker leads although damage is in their readers' way.
//!
//! Another in-sync replica has the same records. The metadata store records each replica that has
//! handed the partition over for this reason. Such a replica does not succeed another damaged
//! leader, and does not get the partition back as the preferred leader unless a request asks for
//! that.

use std::sync::Arc;

use crate::engine::{EngineState, Unavailable};
use crate::replica_manager::hand_overs::moves::{Move, hand_over, moves};
use crate::replication::{Partition, Role};

/// The task that hands damaged partitions over.
pub(in crate::replica_manager) struct DamagedLeaders {
    pub(in crate::replica_manager) engine: Arc<EngineState>,
}

impl DamagedLeaders {
    /// Hands partitions over until the broker stops.
    pub(in crate::replica_manager) async fn run(self) {
        let stopping = self.engine.stopping.clone();
        let handing_over = async {
            loop {
                self.engine.damage_reports.changed().await;
                if self.hand_over_all().await.is_err() {
                    return;
                }
            }
        };
        stopping.run_until_cancelled(handing_over).await;
    }

    async fn hand_over_all(&self) -> Result<(), Unavailable> {
        let (reports, image) = (&self.engine.damage_reports, self.engine.image());
        let due = reports.due();
        let is_due = |step: &Move| due.iter().any(|due| Arc::ptr_eq(due, &step.partition));
        let me = self.engine.config.broker_id;
        let successor = |partition: &_| image.intact_successor(partition, me);
        let mut moves = moves(&self.engine, &image, successor);
        moves.retain(is_due);
        for Move { partition, to } in &moves {
            tracing::warn!(
                "{} is handed over to broker {to}: damage is in the way of its readers here; \
                 'streamlog partition damage' lists it",
                partition.id()
            );
        }
        hand_over(&self.engine, moves).await?;
        let now = self.engine.clock.monotonic();
        for partition in &due {
            reports.ended(partition, !leads(partition), now);
        }
        Ok(())
    }
}

fn leads(partition: &Partition) -> bool {
    partition.role() == Role::Leader
}
