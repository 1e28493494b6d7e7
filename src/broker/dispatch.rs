//! Dispatch of a frame to the handler of its API.
//!
//! A new API is a file in `handlers` and a line in the table here.

use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::call::{Call, Unanswerable, encode};
use crate::broker::context::Shared;
use crate::broker::handlers;
use crate::broker::produce::answer_after_opening;
use crate::broker::session::Session;
use crate::net::Piece;
use crate::wire::{ApiKey, Message, Reader, RequestHeader};

macro_rules! apis {
    ($($api:ident => $handler:ident,)*) => {
        /// The supported APIs, except for the three that are not dispatched by this table.
        fn in_table() -> [(ApiKey, RangeInclusive<i16>); [$(ApiKey::$api),*].len()] {
            [$((ApiKey::$api, <handlers::$handler::Request as Message>::VERSIONS),)*]
        }

        async fn route(
            call: &Call<'_>,
            header: &RequestHeader<'_>,
            mut body: Reader<'_>,
        ) -> Result<Vec<Piece>, Unanswerable> {
            match header.api_key {
                $(ApiKey::$api => {
                    let request = header.decode_body(&mut body)?;
                    let answer = handlers::$handler::handle(call, request).await;
                    encode::<handlers::$handler::Request>(header, &answer)
                })*
                _ => Err(Unanswerable::not_served(header)),
            }
        }
    };
}

apis! {
    AlterConfigs => alter_configs,
    AlterPartitionReassignments => alter_partition_reassignments,
    CreateAcls => create_acls,
    CreatePartitions => create_partitions,
    CreateTopics => create_topics,
    DeleteAcls => delete_acls,
    DeleteGroups => delete_groups,
    DeleteRecords => delete_records,
    DeleteTopics => delete_topics,
    DescribeAcls => describe_acls,
    DescribeClientQuotas => describe_client_quotas,
    DescribeCluster => describe_cluster,
    DescribeConfigs => describe_configs,
    DescribeGroups => describe_groups,
    DescribeLogDirs => describe_log_dirs,
    DescribeProducers => describe_producers,
    DescribeTopicPartitions => describe_topic_partitions,
    DescribeUserScramCredentials => describe_user_scram_credentials,
    ElectLeaders => elect_leaders,
    FindCoordinator => find_coordinator,
    Heartbeat => heartbeat,
    IncrementalAlterConfigs => incremental_alter_configs,
    InitProducerId => init_producer_id,
    JoinGroup => join_group,
    LeaveGroup => leave_group,
    ListConfigResources => list_config_resources,
    ListGroups => list_groups,
    ListOffsets => list_offsets,
    ListPartitionReassignments => list_partition_reassignments,
    Metadata => metadata,
    OffsetCommit => offset_commit,
    OffsetDelete => offset_delete,
    OffsetFetch => offset_fetch,
    OffsetForLeaderEpoch => offset_for_leader_epoch,
    SyncGroup => sync_group,
}

/// Every supported API, with the versions reported by `ApiVersions`.
pub(crate) fn advertised() -> Vec<(ApiKey, RangeInclusive<i16>)> {
    use crate::wire::{api_versions, fetch, produce};
    let mut apis = vec![
        // Clients conclude from version 0 that a broker supports compression; version 0 itself is
        // not supported.
        (ApiKey::Produce, 0..=*produce::ProduceRequest::VERSIONS.end()),
        (ApiKey::Fetch, fetch::FetchRequest::VERSIONS),
        (ApiKey::ApiVersions, api_versions::ApiVersionsRequest::VERSIONS),
    ];
    apis.extend(in_table());
    apis.sort_by_key(|(api, _)| *api);
    apis
}

/// Executes a request and returns its response, empty if none is expected. Once `cancel` is
/// cancelled, the request no longer waits for anything.
///
/// # Errors
/// If the connection must be closed instead.
pub(crate) async fn execute(
    frame: &mut [u8],
    shared: &Arc<Shared>,
    session: &Rc<Session>,
    cancel: &CancellationToken,
) -> Result<Vec<Piece>, Unanswerable> {
    let (header, body) = RequestHeader::decode(frame)?;
    let client_id = header.client_id.unwrap_or_default();
    let call = Call { shared, session, version: header.version, client_id, cancel };
    match header.api_key {
        ApiKey::ApiVersions => handlers::api_versions::answer(&call, &header, body, &advertised()),
        ApiKey::Fetch => handlers::fetch::answer(&call, &header, body).await,
        ApiKey::Produce => answer_after_opening(frame, shared, session).await,
        _ => route(&call, &header, body).await,
    }
}
