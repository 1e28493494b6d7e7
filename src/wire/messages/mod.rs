//! One module per API: its request, its response, and the structures within them.
//! `current_leader.rs` has the structures that Produce and Fetch share.
//!
//! Fields have Kafka's names. Structures have short ones: in the module of an API, `Topic` is a
//! topic of the response, and `RequestTopic` its counterpart in the request. A field whose values
//! Kafka may extend, such as the type of a resource, is a plain number with constants beside it.
//! Names of topics are plain strings: the broker decides which of them are valid.

pub mod alter_configs;
pub mod alter_partition_reassignments;
pub mod api_versions;
pub mod create_acls;
pub mod create_partitions;
pub mod create_topics;
mod current_leader;
pub mod delete_acls;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_client_quotas;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_producers;
pub mod describe_topic_partitions;
pub mod describe_user_scram_credentials;
pub mod elect_leaders;
pub mod fetch;
pub mod find_coordinator;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod list_config_resources;
pub mod list_groups;
pub mod list_offsets;
pub mod list_partition_reassignments;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod sync_group;
pub mod unregister_broker;

#[cfg(test)]
mod fetch_tests;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod round_trip_tests;

pub use alter_configs::{AlterConfigsRequest, AlterConfigsResponse};
pub use alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};
pub use api_versions::{ApiVersionsRequest, ApiVersionsResponse};
pub use create_acls::{CreateAclsRequest, CreateAclsResponse};
pub use create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
pub use create_topics::{CreateTopicsRequest, CreateTopicsResponse};
pub use current_leader::{LeaderIdAndEpoch, NodeEndpoint};
pub use delete_acls::{DeleteAclsRequest, DeleteAclsResponse};
pub use delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};
pub use delete_records::{DeleteRecordsRequest, DeleteRecordsResponse};
pub use delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
pub use describe_acls::{DescribeAclsRequest, DescribeAclsResponse};
pub use describe_client_quotas::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};
pub use describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};
pub use describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse};
pub use describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse};
pub use describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
pub use describe_producers::{DescribeProducersRequest, DescribeProducersResponse};
pub use describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
};
pub use describe_user_scram_credentials::{
    DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
};
pub use elect_leaders::{ElectLeadersRequest, ElectLeadersResponse};
pub use fetch::{FetchRequest, FetchResponse};
pub use find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
pub use heartbeat::{HeartbeatRequest, HeartbeatResponse};
pub use incremental_alter_configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
pub use init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
pub use join_group::{JoinGroupRequest, JoinGroupResponse};
pub use leave_group::{LeaveGroupRequest, LeaveGroupResponse};
pub use list_config_resources::{ListConfigResourcesRequest, ListConfigResourcesResponse};
pub use list_groups::{ListGroupsRequest, ListGroupsResponse};
pub use list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
pub use list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};
pub use metadata::{MetadataRequest, MetadataResponse};
pub use offset_commit::{OffsetCommitRequest, OffsetCommitResponse};
pub use offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse};
pub use offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
pub use offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
pub use produce::{ProduceRequest, ProduceRequestView, ProduceResponse};
pub use sync_group::{SyncGroupRequest, SyncGroupResponse};
pub use unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
