//! `Fetch` (key 1): records of partitions, for consumers and followers.
//!
//! A broker answers with [`Records::Elsewhere`] for records in a file, and sends the frame in
//! pieces (`EncodedFrame::pieces`); a client's decoder slices the records out of the frame.

use bytes::Bytes;

use crate::types::{BrokerId, TopicId};
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, LeaderIdAndEpoch, NodeEndpoint, Records};

structure! {
    /// A request for records.
    FetchRequest {
        /// The id of the follower, or −1 for a consumer; in `replica_state` from version 15 on.
        replica_id: i32 [..=14] = -1,
        /// The maximum time to wait for `min_bytes`.
        max_wait_ms: i32,
        /// The minimum number of bytes; the response is sent once they are available.
        min_bytes: i32,
        /// The maximum number of bytes; the first batch of a response may exceed it.
        max_bytes: i32 = i32::MAX,
        /// 0 to read everything, 1 to read only committed records.
        isolation_level: i8,
        /// The fetch session, or 0 for none.
        session_id: i32 [7..],
        /// The epoch of the fetch session; 0 creates a session, −1 goes without.
        session_epoch: i32 [7..] = -1,
        topics: Vec<RequestTopic>,
        /// Partitions to remove from the session.
        forgotten_topics: Vec<ForgottenTopic> [7..],
        /// The rack of the consumer, so that a nearby replica may serve it.
        rack_id: String [11..],
        /// The id of the follower's cluster.
        cluster_id: Option<String> [12.., tag 0],
        /// The follower.
        replica_state: ReplicaState [15.., tag 1],
        /// A streamlog extension between its brokers: the key of the follower's incarnation, empty
        /// from other clients.
        replica_key: Bytes [15.., tag 10_000],
        /// A streamlog extension between its brokers: true if a follower states only the positions
        /// that the request names, and says nothing about the others of the session.
        is_partial: bool [15.., tag 10_001],
    }
}

impl FetchRequest {
    /// The broker that follows by this request; `None` for a consumer.
    pub(crate) fn follower(&self) -> Option<BrokerId> {
        let id = self.replica_id.max(self.replica_state.replica_id);
        (id >= 0).then_some(BrokerId(id))
    }
}

structure! {
    /// The id and epoch of a follower; −1 for a consumer.
    ReplicaState {
        replica_id: i32 = -1,
        replica_epoch: i64 = -1,
    }
}

structure! {
    /// Partitions of one topic: identified by name up to version 12, by id from 13.
    RequestTopic {
        topic: String [..=12],
        topic_id: TopicId [13..],
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// A partition and its fetch offset.
    RequestPartition {
        partition: i32,
        /// The leader epoch known to the client, or −1 to skip the check.
        current_leader_epoch: i32 [9..] = -1,
        fetch_offset: i64,
        /// The leader epoch of the last fetched record, or −1; a leader with a diverging history
        /// reports it.
        last_fetched_epoch: i32 [12..] = -1,
        /// The follower's log start offset, or −1 for a consumer.
        log_start_offset: i64 [5..] = -1,
        /// The maximum number of bytes of the partition; the first batch of a response may exceed
        /// it.
        partition_max_bytes: i32,
        /// The id of the follower's data directory.
        replica_directory_id: TopicId [17.., tag 0],
        /// The follower's high watermark; `i64::MAX` if it is not given.
        high_watermark: i64 [18.., tag 1] = i64::MAX,
        /// A streamlog extension between its brokers: the offset up to which the follower has
        /// flushed, or −1 from other clients. A leader's high watermark depends on this offset, not
        /// on `fetch_offset`.
        flushed_offset: i64 [12.., tag 10_000] = -1,
        /// A streamlog extension between its brokers: the offset below which all records were
        /// committed, as the follower knows it, or −1 from other clients.
        floor_offset: i64 [12.., tag 10_001] = -1,
        /// A streamlog extension between its brokers: true if the follower has kept records below
        /// that offset that the leader would have had it remove.
        keeps_floor: bool [12.., tag 10_002],
    }
}

structure! {
    /// Partitions of one topic to remove from the session.
    ForgottenTopic {
        topic: String [..=12],
        topic_id: TopicId [13..],
        partitions: Vec<i32>,
    }
}

structure! {
    /// Records.
    FetchResponse {
        throttle_time_ms: i32,
        /// The error of the whole request, or of its session.
        error_code: ErrorCode [7..],
        /// The id of the session, or 0 for none.
        session_id: i32 [7..],
        topics: Vec<Topic>,
        /// The addresses of the leaders named by [`Partition::current_leader`].
        node_endpoints: Vec<NodeEndpoint> [16.., tag 0],
    }
}

structure! {
    /// Partitions of one topic: identified by name up to version 12, by id from 13.
    Topic {
        topic: String [..=12],
        topic_id: TopicId [13..],
        partitions: Vec<Partition>,
    }
}

structure! {
    /// The records of a partition, with its offsets.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        /// The high watermark, or −1 with an error.
        high_watermark: i64,
        /// The last stable offset: records below it are not part of open transactions.
        last_stable_offset: i64 = -1,
        log_start_offset: i64 [5..] = -1,
        /// Aborted transactions, whose records the reader must skip; `None` if it reads everything.
        aborted_transactions: Option<Vec<AbortedTransaction>>,
        /// A replica closer to the consumer, or −1.
        preferred_read_replica: i32 [11..] = -1,
        records: Records,
        /// The epoch and offset at which the client's history diverged, if it did.
        diverging_epoch: EpochEndOffset [12.., tag 0],
        /// The current leader, if the error is that this broker is not the leader.
        current_leader: LeaderIdAndEpoch [12.., tag 1],
        /// The snapshot to start from; never sent by streamlog.
        snapshot_id: SnapshotId [12.., tag 2],
    }
}

structure! {
    /// An aborted transaction.
    AbortedTransaction {
        producer_id: i64,
        /// The first offset of the transaction in this partition.
        first_offset: i64,
    }
}

structure! {
    /// The end offset of an epoch; −1 if unknown.
    EpochEndOffset {
        epoch: i32 = -1,
        end_offset: i64 = -1,
    }
}

structure! {
    /// A snapshot, identified by its end.
    SnapshotId {
        end_offset: i64 = -1,
        epoch: i32 = -1,
    }
}

api!(Fetch, 4..=18, FetchRequest => FetchResponse);
