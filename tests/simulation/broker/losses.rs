//! Replicas whose disk has lost records, by the steps of `engine::losses`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use streamlog::metadata::Image;
use streamlog::replication::LocalLogs;
use streamlog::storage::{StorageError, Unreadable};
use streamlog::types::{PartitionIndex, TopicId, TopicPartition};
use tokio::time::sleep;

use crate::broker::Broker;
use crate::ensemble::index;
use crate::machine::locked;
use crate::world::TOPIC;

/// The pause between two looks at the losses.
const PAUSE: Duration = Duration::from_millis(300);

/// A replica of a partition of a topic with this id.
pub(super) type Lost = (TopicId, PartitionIndex);

/// The replicas with losses that the disk shows.
pub(super) fn found_on_disk(
    logs: &LocalLogs,
    image: &Image,
) -> Result<BTreeSet<Lost>, StorageError> {
    let losses = logs.data.losses()?.into_iter();
    let mut lost: BTreeSet<Lost> = losses.map(|(log, id)| (id, log.partition)).collect();
    for (log, id) in &logs.data.start_report().missing {
        if image.topic_by_id(*id).is_some() {
            lost.insert((*id, log.partition));
        }
    }
    Ok(lost)
}

impl Broker {
    /// The replicas that have lost records.
    pub(super) fn lost_replicas(&self) -> BTreeSet<Lost> {
        locked(&self.lost).clone()
    }

    /// The name of a partition of the topic.
    pub(super) fn named(partition: PartitionIndex) -> TopicPartition {
        TopicPartition { topic: TOPIC.parse().unwrap(), partition }
    }

    /// Stops leading a partition, because a follower knows of records that this log lacks.
    pub(super) fn records_lost(&self, number: PartitionIndex) {
        let Some(partition) = self.partition(number) else { return };
        if !locked(&self.lost).insert((partition.topic_id(), number)) {
            return;
        }
        self.world.note("leader has lost records", &[index(self.machine), number.0.into()]);
        partition.stop("its log has lost committed records");
    }

    /// Registers the losses, and gives the records up once the replicas are struck out.
    pub(super) async fn give_up_losses(self: Arc<Self>) {
        loop {
            sleep(PAUSE).await;
            let lost = self.lost_replicas();
            if lost.is_empty() {
                continue;
            }
            let (metadata, image) = (&self.metadata, self.image());
            self.apply(&image);
            if metadata.report_losses(&lost).await.is_err() {
                continue;
            }
            let Ok(struck_out) = metadata.struck_out().await else { continue };
            for (topic, number) in struck_out {
                let partition = Self::named(number);
                self.logs.flusher.forget(&partition);
                if self.logs.data.give_up_lost_end(&partition, topic, Unreadable::SetAside).is_err()
                {
                    continue;
                }
                self.world.note("loss given up", &[index(self.machine), number.0.into()]);
                locked(&self.lost).remove(&(topic, number));
                let _ = metadata.losses_given_up(&[(topic, number)]).await;
            }
            self.apply(&self.image());
        }
    }
}
