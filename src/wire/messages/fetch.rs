//! Fetch (key 1): records of partitions, for consumers and followers alike.
//!
//! A broker answers with [`Records::Elsewhere`] where records lie in a file, and sends the frame
//! piece by piece (`EncodedFrame::pieces`); a client's decoder slices them out of the frame.

use crate::types::TopicId;
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Records};

structure! {
    /// Asks for records.
    FetchRequest {
        /// The follower that asks, or −1 for a consumer; from version 15 in `replica_state`.
        replica_id: i32 [..=14] = -1,
        /// How long to wait for `min_bytes`.
        max_wait_ms: i32,
        /// Answer as soon as there are so many bytes.
        min_bytes: i32,
        /// Answer with no more bytes than this, but with at least one batch.
        max_bytes: i32 = i32::MAX,
        /// 0 reads everything, 1 only what is not part of an open transaction.
        isolation_level: i8,
        /// The fetch session, or 0 for none.
        session_id: i32 [7..],
        /// Number of the request within its session; 0 begins one, −1 goes without.
        session_epoch: i32 [7..] = -1,
        topics: Vec<RequestTopic>,
        /// Partitions that leave the session.
        forgotten_topics: Vec<ForgottenTopic> [7..],
        /// Where the consumer is, so that a replica nearby may serve it.
        rack_id: String [11..],
        /// The cluster the follower belongs to.
        cluster_id: Option<String> [12.., tag 0],
        /// The follower that asks.
        replica_state: ReplicaState [15.., tag 1],
    }
}

structure! {
    /// A follower and its incarnation; −1 for a consumer.
    ReplicaState {
        replica_id: i32 = -1,
        replica_epoch: i64 = -1,
    }
}

structure! {
    /// Partitions of one topic: by name up to version 12, by id from 13.
    RequestTopic {
        topic: String [..=12],
        topic_id: TopicId [13..],
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// One partition and where to read it.
    RequestPartition {
        partition: i32,
        /// The epoch the reader takes for current, or −1 to skip the check.
        current_leader_epoch: i32 [9..] = -1,
        fetch_offset: i64,
        /// The epoch of the reader's last record, or −1; a leader with another history says so.
        last_fetched_epoch: i32 [12..] = -1,
        /// The follower's first offset, or −1 from a consumer.
        log_start_offset: i64 [5..] = -1,
        /// No more bytes than this from the partition, but at least one batch.
        partition_max_bytes: i32,
        /// The id of the directory in which the follower keeps the partition.
        replica_directory_id: TopicId [17.., tag 0],
        /// The follower's high watermark; the greatest number where it does not say it.
        high_watermark: i64 [18.., tag 1] = i64::MAX,
        /// Streamlog's own, between its brokers: the offset up to which the follower has flushed,
        /// or −1 from anyone else. A leader's high watermark counts this, not `fetch_offset`.
        flushed_offset: i64 [12.., tag 10_000] = -1,
    }
}

structure! {
    /// Partitions of one topic that leave the session.
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
        /// What is wrong with the whole request, or its session.
        error_code: ErrorCode [7..],
        /// The session to go on with, or 0 for none.
        session_id: i32 [7..],
        topics: Vec<Topic>,
        /// Addresses of the leaders named by [`Partition::current_leader`].
        node_endpoints: Vec<NodeEndpoint> [16.., tag 0],
    }
}

structure! {
    /// Partitions of one topic: by name up to version 12, by id from 13.
    Topic {
        topic: String [..=12],
        topic_id: TopicId [13..],
        partitions: Vec<Partition>,
    }
}

structure! {
    /// One partition's records, and how far they reach.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        /// The end of what consumers may read, or −1 beside an error.
        high_watermark: i64,
        /// The end of what lies outside open transactions.
        last_stable_offset: i64 = -1,
        log_start_offset: i64 [5..] = -1,
        /// Transactions whose records the reader must drop; `None` where it reads everything.
        aborted_transactions: Option<Vec<AbortedTransaction>>,
        /// A replica nearer to the consumer, or −1.
        preferred_read_replica: i32 [11..] = -1,
        records: Records,
        /// Where the reader's history left the leader's, when it did.
        diverging_epoch: EpochEndOffset [12.., tag 0],
        /// Who leads the partition, when the error is that this broker does not.
        current_leader: LeaderIdAndEpoch [12.., tag 1],
        /// The snapshot to begin with; never sent by streamlog.
        snapshot_id: SnapshotId [12.., tag 2],
    }
}

structure! {
    /// A transaction that was aborted.
    AbortedTransaction {
        producer_id: i64,
        /// The first offset of the transaction in this partition.
        first_offset: i64,
    }
}

structure! {
    /// The end of an epoch; −1 is unknown.
    EpochEndOffset {
        epoch: i32 = -1,
        end_offset: i64 = -1,
    }
}

structure! {
    /// A partition's leader; −1 is unknown.
    LeaderIdAndEpoch {
        leader_id: i32 = -1,
        leader_epoch: i32 = -1,
    }
}

structure! {
    /// A snapshot by its end.
    SnapshotId {
        end_offset: i64 = -1,
        epoch: i32 = -1,
    }
}

structure! {
    /// Where a broker is reached.
    NodeEndpoint {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
    }
}

api!(Fetch, 4..=18, FetchRequest => FetchResponse);
