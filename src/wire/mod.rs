//! Kafka's wire protocol: frames, primitives and messages. No I/O, and no knowledge of logs.
//!
//! Every message is declared once, in `messages/<api>`, and works in both directions: a broker
//! decodes requests and encodes responses, a client the reverse. This layer defines the contents of
//! messages, not their meaning or the advertised versions. The structures within a message are
//! named by the module of their API: `wire::fetch::Partition`.
//!
//! Input is untrusted. Decoding never panics, never indexes unchecked, and never allocates for a
//! length that the remaining bytes do not cover.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod api_key;
mod consumer_protocol;
mod error;
mod error_code;
mod frame;
mod layout;
mod messages;
mod primitive;
mod reader;
mod records;
#[cfg(test)]
mod sample;
mod structure;
mod writer;

pub use api_key::ApiKey;
pub use consumer_protocol::{Assignment, Subscription, TopicPartitions};
pub use error::WireError;
pub use error_code::ErrorCode;
pub use frame::{Message, RequestHeader, decode_response, encode_request, encode_response};
pub use layout::Layout;
pub use messages::{
    AlterConfigsRequest, AlterConfigsResponse, AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse, ApiVersionsRequest, ApiVersionsResponse,
    CreateAclsRequest, CreateAclsResponse, CreatePartitionsRequest, CreatePartitionsResponse,
    CreateTopicsRequest, CreateTopicsResponse, DeleteAclsRequest, DeleteAclsResponse,
    DeleteGroupsRequest, DeleteGroupsResponse, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, DescribeAclsRequest, DescribeAclsResponse,
    DescribeClientQuotasRequest, DescribeClientQuotasResponse, DescribeClusterRequest,
    DescribeClusterResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    DescribeGroupsRequest, DescribeGroupsResponse, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeProducersRequest, DescribeProducersResponse, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse, ElectLeadersRequest, ElectLeadersResponse, FetchRequest,
    FetchResponse, FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest,
    HeartbeatResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    InitProducerIdRequest, InitProducerIdResponse, JoinGroupRequest, JoinGroupResponse,
    LeaderIdAndEpoch, LeaveGroupRequest, LeaveGroupResponse, ListConfigResourcesRequest,
    ListConfigResourcesResponse, ListGroupsRequest, ListGroupsResponse, ListOffsetsRequest,
    ListOffsetsResponse, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
    MetadataRequest, MetadataResponse, NodeEndpoint, OffsetCommitRequest, OffsetCommitResponse,
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest, OffsetFetchResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, ProduceRequest, ProduceRequestView,
    ProduceResponse, SyncGroupRequest, SyncGroupResponse, UnregisterBrokerRequest,
    UnregisterBrokerResponse,
};
pub use messages::{
    alter_configs, alter_partition_reassignments, api_versions, create_acls, create_partitions,
    create_topics, delete_acls, delete_groups, delete_records, delete_topics, describe_acls,
    describe_client_quotas, describe_cluster, describe_configs, describe_groups, describe_log_dirs,
    describe_producers, describe_topic_partitions, describe_user_scram_credentials, elect_leaders,
    fetch, find_coordinator, heartbeat, incremental_alter_configs, init_producer_id, join_group,
    leave_group, list_config_resources, list_groups, list_offsets, list_partition_reassignments,
    metadata, offset_commit, offset_delete, offset_fetch, offset_for_leader_epoch, produce,
    sync_group, unregister_broker,
};
pub use primitive::{Marked, Nullable, Wire};
pub use reader::Reader;
pub use records::{EncodedFrame, Piece, Records};
pub use writer::Writer;
