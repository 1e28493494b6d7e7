//! Fetches by followers of partitions that this broker leads.

use std::sync::Arc;

use super::partition_fetch::{Asked, FetchedTopic, Outcome, PartitionFetch, Refused};
use super::session::Exchange;
use crate::broker::access::LedPartitions;
use crate::metadata::Incarnation;
use crate::replication::{
    CountedFetch, FetchPosition, FetchingReplica, Floor, Partition, RequestedChange,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, PartitionKey};
use crate::wire::ErrorCode;
use crate::wire::fetch::{FetchRequest, RequestPartition};

/// The broker that sent a fetch; `None` for a consumer.
///
/// # Errors
/// `ClusterAuthorizationFailed` unless the request carries the key of the incarnation that is
/// registered (rule R11 in docs/replication.md): broker ids can be guessed, and a forged fetch
/// would move a watermark.
pub(super) fn sender(
    led: LedPartitions<'_>,
    request: &FetchRequest,
) -> Result<Option<FetchingReplica>, ErrorCode> {
    let Some(broker) = request.follower() else { return Ok(None) };
    let incarnation = Incarnation(request.replica_state.replica_epoch);
    let image = led.image();
    let registered = image
        .broker(broker)
        .filter(|known| known.incarnation == incarnation && known.has_key(&request.replica_key));
    let Some(registered) = registered.map(|known| known.incarnation) else {
        tracing::debug!(%broker, "a fetch without the registered key of its broker");
        return Err(ErrorCode::ClusterAuthorizationFailed);
    };
    Ok(Some(FetchingReplica { broker, incarnation, registered: Some(registered), follows: None }))
}

/// A broker that fetches partitions of its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchingFollower<'e> {
    pub(super) replica: FetchingReplica,
    pub(super) exchange: &'e Exchange<'e>,
}

impl FetchingFollower<'_> {
    /// Finds a partition, and counts the position that the request states for it. `None` if the
    /// request states none, and this broker has the partition no more.
    pub(super) async fn open(
        &self,
        led: LedPartitions<'_>,
        topic: &FetchedTopic,
        asked: Asked,
    ) -> Option<PartitionFetch> {
        let key = PartitionKey::new(topic.id, asked.partition.partition);
        if !self.exchange.states_position(&key) {
            return self.open_counted(&key, asked);
        }
        let mut opened = self.count(led, topic, asked).await;
        self.exchange.set_interest(key, opened.partition.as_ref());
        opened.log_start_seen = self.exchange.counted_before(&key).map(|(_, log_start)| log_start);
        Some(opened)
    }

    /// A partition whose position was counted earlier in the session.
    pub(super) fn open_counted(&self, key: &PartitionKey, asked: Asked) -> Option<PartitionFetch> {
        let (partition, log_start) = self.exchange.counted_before(key)?;
        Some(PartitionFetch {
            partition: Some(partition),
            log_start_seen: Some(log_start),
            ..PartitionFetch::with(asked, Outcome::Unread)
        })
    }

    async fn count(
        &self,
        led: LedPartitions<'_>,
        topic: &FetchedTopic,
        asked: Asked,
    ) -> PartitionFetch {
        // The version that names a replica's incarnation identifies topics by their ids.
        let Some(topic) = led.topic_by_id(topic.id) else {
            return PartitionFetch::refused(asked, ErrorCode::UnknownTopicId);
        };
        let index = PartitionIndex(asked.partition.partition);
        let Some(partition) = topic.partition(index).cloned() else {
            return PartitionFetch::refused(asked, led.code_without_replica(&topic, index));
        };
        led.load(&partition).await;
        let Some(position) = position(&asked.partition) else {
            return PartitionFetch::refused(asked, ErrorCode::OffsetOutOfRange);
        };
        let outcome = count(led, &partition, self.replica, &position);
        if let (Outcome::Unread, Some(start)) =
            (&outcome, Offset::checked(asked.partition.log_start_offset))
        {
            partition.follower_begins(self.replica.broker, position.epoch, start);
        }
        let partition = matches!(outcome, Outcome::Unread).then_some(partition);
        PartitionFetch { partition, ..PartitionFetch::with(asked, outcome) }
    }
}

/// Counts the position of a fetch. Returns `Outcome::Unread` if the records are still to be read.
fn count(
    led: LedPartitions<'_>,
    partition: &Arc<Partition>,
    replica: FetchingReplica,
    position: &FetchPosition,
) -> Outcome {
    match partition.follower_fetched(replica, position, led.monotonic()) {
        Ok(CountedFetch::Counted { change, .. }) => {
            if let Some(change) = change {
                let (partition, epoch) = (Arc::clone(partition), position.epoch);
                led.request_change(RequestedChange { partition, epoch, change });
            }
            Outcome::Unread
        }
        Ok(CountedFetch::Diverging { epoch, end }) => Outcome::Diverging {
            epoch,
            end,
            high_watermark: partition.high_watermark(),
            log_start_offset: partition.log_start_offset(),
        },
        Ok(CountedFetch::RecordsLost) => {
            led.records_lost(partition, replica.broker, position.floor.offset);
            Outcome::Refused(ErrorCode::NotLeaderOrFollower.into())
        }
        Ok(CountedFetch::Fenced) => Outcome::Refused(ErrorCode::FencedLeaderEpoch.into()),
        Err(error) => Outcome::Refused(Refused::of_follower(partition, &error)),
    }
}

/// The position that a request states; `None` for a negative offset.
fn position(request: &RequestPartition) -> Option<FetchPosition> {
    Some(FetchPosition {
        epoch: LeaderEpoch(request.current_leader_epoch),
        offset: Offset::checked(request.fetch_offset)?,
        last_epoch: LeaderEpoch(request.last_fetched_epoch).max(LeaderEpoch::NONE),
        flushed: Offset::checked(request.flushed_offset).unwrap_or(Offset::ZERO),
        floor: Floor {
            offset: Offset::checked(request.floor_offset).unwrap_or(Offset::ZERO),
            is_kept: request.keeps_floor,
        },
    })
}
