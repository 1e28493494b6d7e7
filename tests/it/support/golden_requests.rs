//! One well-formed request of every API that a broker serves, in every version it serves.

use bytes::Bytes;
use streamlog::types::TopicId;
use streamlog::wire::{
    self, ApiKey, ApiVersionsRequest, DescribeClusterRequest, HeartbeatRequest,
    InitProducerIdRequest, Message, Reader, Records, RequestHeader, UnregisterBrokerRequest,
    WireError, encode_request,
};

use super::batch;

/// A request as bytes, without their length.
pub(crate) struct GoldenRequest {
    /// Its API and version, for messages.
    pub(crate) name: String,
    /// Header and body.
    pub(crate) body: Bytes,
    /// Its API.
    pub(crate) api: ApiKey,
    /// Reads what follows the header of a request of this API.
    pub(crate) decode: Decode,
}

/// Reads a body, given its header.
pub(crate) type Decode = fn(&RequestHeader<'_>, Reader<'_>) -> Result<(), WireError>;

/// The requests, for this topic; destructive ones are for a topic that does not exist.
pub(crate) fn golden_requests(topic: &str, topic_id: TopicId) -> Vec<GoldenRequest> {
    let mut goldens = Goldens(Vec::new());
    goldens.of_records(topic, topic_id);
    goldens.of_topics(topic);
    goldens.of_settings(topic);
    goldens.of_group_members();
    goldens.of_group_offsets(topic, topic_id);
    goldens.of_groups();
    goldens.of_rules();
    goldens.of_replicas(topic);
    goldens.of_clients(topic);
    goldens.0
}

fn decode<R: Message>(header: &RequestHeader<'_>, mut body: Reader<'_>) -> Result<(), WireError> {
    header.decode_body::<R>(&mut body).map(drop)
}

struct Goldens(Vec<GoldenRequest>);

impl Goldens {
    /// A request in all its versions.
    fn add<R: Message>(&mut self, request: &R) {
        for version in R::VERSIONS {
            let frame = encode_request(1, "golden", version, request).unwrap().into_bytes();
            let name = format!("{} version {version}", R::KEY);
            let body = frame.slice(4..);
            self.0.push(GoldenRequest { name, body, api: R::KEY, decode: decode::<R> });
        }
    }

    fn of_records(&mut self, topic: &str, topic_id: TopicId) {
        use wire::{fetch, list_offsets, offset_for_leader_epoch, produce};
        let records = Records::Bytes(batch([1, 2]).into());
        let partitions = vec![produce::RequestPartition { index: 0, records }];
        let topics = vec![produce::RequestTopic { name: topic.to_owned(), topic_id, partitions }];
        self.add(&produce::ProduceRequest {
            acks: 1,
            timeout_ms: 100,
            topics,
            ..Default::default()
        });

        let partition_max_bytes = 1 << 16;
        let partitions =
            vec![fetch::RequestPartition { partition_max_bytes, ..Default::default() }];
        let topics = vec![fetch::RequestTopic { topic: topic.to_owned(), topic_id, partitions }];
        let forgotten =
            fetch::ForgottenTopic { topic: topic.to_owned(), topic_id, partitions: vec![0] };
        self.add(&fetch::FetchRequest {
            max_wait_ms: 1,
            min_bytes: 1,
            topics,
            forgotten_topics: vec![forgotten],
            ..Default::default()
        });

        let partitions =
            vec![list_offsets::RequestPartition { timestamp: 5, ..Default::default() }];
        let topics = vec![list_offsets::RequestTopic { name: topic.to_owned(), partitions }];
        self.add(&list_offsets::ListOffsetsRequest { topics, ..Default::default() });

        let partitions = vec![offset_for_leader_epoch::RequestPartition::default()];
        let topics =
            vec![offset_for_leader_epoch::RequestTopic { topic: topic.to_owned(), partitions }];
        self.add(&offset_for_leader_epoch::OffsetForLeaderEpochRequest {
            topics,
            ..Default::default()
        });
        self.add(&InitProducerIdRequest { transaction_timeout_ms: 1_000, ..Default::default() });
    }

    fn of_topics(&mut self, topic: &str) {
        use wire::{create_partitions, create_topics, delete_records, delete_topics, metadata};
        let named = metadata::RequestTopic { name: Some(topic.to_owned()), ..Default::default() };
        self.add(&metadata::MetadataRequest { topics: Some(vec![named]), ..Default::default() });

        let config =
            create_topics::RequestConfig { name: "retention.ms".into(), value: Some("9".into()) };
        let made = create_topics::RequestTopic {
            name: "made".into(),
            num_partitions: 1,
            replication_factor: 1,
            configs: vec![config],
            ..Default::default()
        };
        self.add(&create_topics::CreateTopicsRequest {
            topics: vec![made],
            validate_only: true,
            ..Default::default()
        });

        let more = create_partitions::RequestTopic {
            name: topic.to_owned(),
            count: 2,
            assignments: Some(vec![create_partitions::Assignment { broker_ids: vec![1] }]),
        };
        self.add(&create_partitions::CreatePartitionsRequest {
            topics: vec![more],
            timeout_ms: 100,
            validate_only: true,
        });

        let partitions = vec![delete_records::RequestPartition::default()];
        let topics = vec![delete_records::RequestTopic { name: topic.to_owned(), partitions }];
        self.add(&delete_records::DeleteRecordsRequest { topics, timeout_ms: 100 });

        let gone =
            delete_topics::RequestTopic { name: Some("absent".into()), ..Default::default() };
        self.add(&delete_topics::DeleteTopicsRequest {
            topics: vec![gone],
            topic_names: vec!["absent".into()],
            timeout_ms: 100,
        });
    }

    fn of_settings(&mut self, topic: &str) {
        use wire::{alter_configs, describe_configs, describe_log_dirs, incremental_alter_configs};
        let (resource_type, resource_name) = (describe_configs::RESOURCE_TOPIC, topic.to_owned());
        let (name, value) = ("retention.bytes".to_owned(), Some("1000000".to_owned()));
        let changed = alter_configs::RequestResource {
            resource_type,
            resource_name: resource_name.clone(),
            configs: vec![alter_configs::RequestConfig {
                name: name.clone(),
                value: value.clone(),
            }],
        };
        self.add(&alter_configs::AlterConfigsRequest {
            resources: vec![changed],
            validate_only: true,
        });
        let changed = incremental_alter_configs::RequestConfig {
            name: name.clone(),
            config_operation: incremental_alter_configs::SET,
            value,
        };
        let changed = incremental_alter_configs::RequestResource {
            resource_type,
            resource_name: resource_name.clone(),
            configs: vec![changed],
        };
        self.add(&incremental_alter_configs::IncrementalAlterConfigsRequest {
            resources: vec![changed],
            validate_only: true,
        });
        let asked = describe_configs::RequestResource {
            resource_type,
            resource_name,
            configuration_keys: Some(vec![name]),
        };
        self.add(&describe_configs::DescribeConfigsRequest {
            resources: vec![asked],
            ..Default::default()
        });
        let asked =
            describe_log_dirs::RequestTopic { topic: topic.to_owned(), partitions: vec![0] };
        self.add(&describe_log_dirs::DescribeLogDirsRequest {
            topics: Some(vec![asked]),
            ..Default::default()
        });
        self.add(&DescribeClusterRequest::default());
        self.add(&UnregisterBrokerRequest { broker_id: 99 });
        self.add(&ApiVersionsRequest {
            client_software_name: "golden".into(),
            client_software_version: "1".into(),
            ..Default::default()
        });
    }

    fn of_group_members(&mut self) {
        use wire::{join_group, leave_group, sync_group};
        let (group_id, member_id) = ("group".to_owned(), "member".to_owned());
        let protocol =
            join_group::Protocol { name: "range".into(), metadata: Bytes::from_static(&[0; 6]) };
        self.add(&join_group::JoinGroupRequest {
            group_id: group_id.clone(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 100,
            protocol_type: "consumer".into(),
            protocols: vec![protocol],
            ..Default::default()
        });
        let assignment = sync_group::MemberAssignment {
            member_id: member_id.clone(),
            assignment: Bytes::from_static(&[0; 6]),
        };
        self.add(&sync_group::SyncGroupRequest {
            group_id: group_id.clone(),
            generation_id: 1,
            member_id: member_id.clone(),
            assignments: vec![assignment],
            ..Default::default()
        });
        self.add(&HeartbeatRequest {
            group_id: group_id.clone(),
            generation_id: 1,
            member_id: member_id.clone(),
            ..Default::default()
        });
        let member =
            leave_group::RequestMember { member_id: member_id.clone(), ..Default::default() };
        self.add(&leave_group::LeaveGroupRequest { group_id, member_id, members: vec![member] });
    }

    fn of_group_offsets(&mut self, topic: &str, topic_id: TopicId) {
        use wire::{offset_commit, offset_delete, offset_fetch};
        let (group_id, name) = ("group".to_owned(), topic.to_owned());
        let partitions =
            vec![offset_commit::RequestPartition { committed_offset: 1, ..Default::default() }];
        self.add(&offset_commit::OffsetCommitRequest {
            group_id: group_id.clone(),
            topics: vec![offset_commit::RequestTopic { name: name.clone(), topic_id, partitions }],
            ..Default::default()
        });
        let asked = vec![offset_fetch::RequestTopic {
            name: name.clone(),
            topic_id,
            partition_indexes: vec![0],
        }];
        let group = offset_fetch::RequestGroup {
            group_id: group_id.clone(),
            topics: Some(asked.clone()),
            ..Default::default()
        };
        self.add(&offset_fetch::OffsetFetchRequest {
            group_id: group_id.clone(),
            topics: Some(asked),
            groups: vec![group],
            require_stable: true,
        });
        let partitions = vec![offset_delete::RequestPartition { partition_index: 0 }];
        let topics = vec![offset_delete::RequestTopic { name, partitions }];
        self.add(&offset_delete::OffsetDeleteRequest { group_id, topics });
    }

    fn of_groups(&mut self) {
        use wire::{
            DeleteGroupsRequest, DescribeGroupsRequest, FindCoordinatorRequest, ListGroupsRequest,
        };
        let group = "group".to_owned();
        self.add(&FindCoordinatorRequest {
            key: group.clone(),
            coordinator_keys: vec![group.clone()],
            ..Default::default()
        });
        self.add(&DescribeGroupsRequest { groups: vec![group.clone()], ..Default::default() });
        self.add(&ListGroupsRequest {
            states_filter: vec!["Stable".into()],
            types_filter: vec!["classic".into()],
        });
        self.add(&DeleteGroupsRequest { groups_names: vec![group] });
    }

    /// About who may do what.
    fn of_rules(&mut self) {
        use wire::{create_acls, delete_acls};
        let (principal, host) = ("User:golden".to_owned(), "*".to_owned());
        self.add(&wire::DescribeAclsRequest {
            resource_type_filter: 2,
            resource_name_filter: Some("rules".into()),
            principal_filter: Some(principal.clone()),
            host_filter: Some(host.clone()),
            operation: 1,
            permission_type: 1,
            ..Default::default()
        });
        let creation = create_acls::Creation {
            resource_type: 2,
            resource_name: "rules".into(),
            principal,
            host: host.clone(),
            operation: 3,
            permission_type: 3,
            ..Default::default()
        };
        self.add(&create_acls::CreateAclsRequest { creations: vec![creation] });
        let filter = delete_acls::Filter { host_filter: Some(host), ..Default::default() };
        self.add(&delete_acls::DeleteAclsRequest { filters: vec![filter] });
    }

    fn of_replicas(&mut self, topic: &str) {
        use wire::{
            alter_partition_reassignments as alter, describe_topic_partitions as describe,
            elect_leaders, list_partition_reassignments as list,
        };
        let name = topic.to_owned();
        let asked = elect_leaders::RequestTopic { topic: name.clone(), partitions: vec![0] };
        self.add(&elect_leaders::ElectLeadersRequest {
            topic_partitions: Some(vec![asked]),
            ..Default::default()
        });
        let partitions =
            vec![alter::RequestPartition { partition_index: 0, replicas: Some(vec![1]) }];
        let topics = vec![alter::RequestTopic { name: name.clone(), partitions }];
        self.add(&alter::AlterPartitionReassignmentsRequest { topics, ..Default::default() });
        let asked = list::RequestTopic { name: name.clone(), partition_indexes: vec![0] };
        self.add(&list::ListPartitionReassignmentsRequest {
            topics: Some(vec![asked]),
            ..Default::default()
        });
        let cursor = describe::Cursor { topic_name: name.clone(), partition_index: 0 };
        self.add(&describe::DescribeTopicPartitionsRequest {
            topics: vec![describe::RequestTopic { name }],
            cursor: Some(wire::Marked(cursor)),
            ..Default::default()
        });
    }

    /// About those who connect.
    fn of_clients(&mut self, topic: &str) {
        use wire::{
            describe_client_quotas as quotas, describe_producers as producers,
            describe_user_scram_credentials as users, list_config_resources as resources,
        };
        let component = quotas::Component {
            entity_type: "client-id".into(),
            match_type: quotas::MATCH_EXACT,
            matched: Some("golden".into()),
        };
        self.add(&quotas::DescribeClientQuotasRequest {
            components: vec![component],
            strict: true,
        });
        let asked = producers::RequestTopic { name: topic.to_owned(), partition_indexes: vec![0] };
        self.add(&producers::DescribeProducersRequest { topics: vec![asked] });
        let user = users::User { name: "golden".into() };
        self.add(&users::DescribeUserScramCredentialsRequest { users: Some(vec![user]) });
        let resource_types = vec![resources::TOPIC, resources::BROKER];
        self.add(&resources::ListConfigResourcesRequest { resource_types });
    }
}
