//! Dispatch of a frame to the handler of its API.
//!
//! To add an API, declare its messages in `wire/messages/<api>.rs` and list that file in
//! `wire/messages/mod.rs` and `wire/mod.rs`. Write its handler in `handlers/<api>.rs`, list it in
//! `handlers/mod.rs`, and add a line to the table below, which also names the parts of the broker
//! that the handler receives. `ARCHITECTURE.md` lists the tests to extend, and the files to change
//! if the key of the API or a part of the broker is new.

use std::ops::RangeInclusive;

use tokio_util::sync::CancellationToken;

use crate::broker::call::{Call, Unanswerable, encode};
use crate::broker::context::{Parts, Shared};
use crate::broker::fetch::answer as answer_fetch;
use crate::broker::handlers;
use crate::broker::produce::answer_after_opening;
use crate::broker::session::Session;
use crate::net::Piece;
use crate::wire::{ApiKey, Message, Reader, RequestHeader};

macro_rules! apis {
    ($($api:ident => $handler:ident($($part:ident),*),)*) => {
        /// The supported APIs without ApiVersions, Fetch and Produce, which `execute` handles
        /// itself.
        fn in_table() -> [(ApiKey, RangeInclusive<i16>); [$(ApiKey::$api),*].len()] {
            [$((ApiKey::$api, <handlers::$handler::Request as Message>::VERSIONS),)*]
        }

        async fn route(
            call: &Call<'_>,
            parts: &Parts<'_>,
            header: &RequestHeader<'_>,
            mut body: Reader<'_>,
        ) -> Result<Vec<Piece>, Unanswerable> {
            match header.api_key {
                $(ApiKey::$api => {
                    let request = header.decode_body(&mut body)?;
                    let answer =
                        handlers::$handler::handle(call, $(&parts.$part(),)* request).await;
                    encode::<handlers::$handler::Request>(header, &answer)
                })*
                _ => Err(Unanswerable::not_served(header)),
            }
        }
    };
}

apis! {
    AlterConfigs => alter_configs(settings),
    AlterPartitionReassignments => alter_partition_reassignments(cluster),
    CreateAcls => create_acls(),
    CreatePartitions => create_partitions(topics),
    CreateTopics => create_topics(settings, topics),
    DeleteAcls => delete_acls(),
    DeleteGroups => delete_groups(groups),
    DeleteRecords => delete_records(partitions, groups),
    DeleteTopics => delete_topics(topics),
    DescribeAcls => describe_acls(),
    DescribeClientQuotas => describe_client_quotas(),
    DescribeCluster => describe_cluster(cluster, addresses),
    DescribeConfigs => describe_configs(settings),
    DescribeGroups => describe_groups(groups),
    DescribeLogDirs => describe_log_dirs(cluster, partitions),
    DescribeProducers => describe_producers(partitions),
    DescribeTopicPartitions => describe_topic_partitions(cluster),
    DescribeUserScramCredentials => describe_user_scram_credentials(),
    ElectLeaders => elect_leaders(cluster, elections),
    FindCoordinator => find_coordinator(cluster, groups, addresses),
    Heartbeat => heartbeat(groups),
    IncrementalAlterConfigs => incremental_alter_configs(settings),
    InitProducerId => init_producer_id(cluster),
    JoinGroup => join_group(groups),
    LeaveGroup => leave_group(groups),
    ListConfigResources => list_config_resources(cluster),
    ListGroups => list_groups(groups),
    ListOffsets => list_offsets(partitions),
    ListPartitionReassignments => list_partition_reassignments(),
    Metadata => metadata(addresses, settings, topics),
    OffsetCommit => offset_commit(cluster, groups),
    OffsetDelete => offset_delete(cluster, groups),
    OffsetFetch => offset_fetch(cluster, groups),
    OffsetForLeaderEpoch => offset_for_leader_epoch(partitions),
    SyncGroup => sync_group(groups),
    UnregisterBroker => unregister_broker(cluster),
}

/// Every supported API, with the versions reported by `ApiVersions`.
pub(crate) fn advertised() -> Vec<(ApiKey, RangeInclusive<i16>)> {
    use crate::wire::{api_versions, fetch, produce};
    let mut apis = vec![
        // Advertise version 0 although it is not supported: clients conclude from version 0 that a
        // broker supports compression.
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
    shared: &Shared,
    session: &Session,
    cancel: &CancellationToken,
) -> Result<Vec<Piece>, Unanswerable> {
    let (header, body) = RequestHeader::decode(frame)?;
    let client_id = header.client_id.unwrap_or_default();
    let call = Call { session, version: header.version, client_id, cancel };
    let parts = shared.parts(&call);
    match header.api_key {
        ApiKey::ApiVersions => {
            let served = advertised();
            handlers::api_versions::answer(&call, &parts.cluster(), (&header, body), &served)
        }
        ApiKey::Fetch => {
            let sessions = shared.fetch_sessions();
            answer_fetch(&call, parts.partitions(), sessions, (&header, body)).await
        }
        ApiKey::Produce => answer_after_opening(frame, shared.partitions(session)).await,
        _ => route(&call, &parts, &header, body).await,
    }
}
