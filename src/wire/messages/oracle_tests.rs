//! Every API in every version, compared with `kafka-protocol`, whose codecs are generated from
//! Kafka's message definitions.
//!
//! Bytes encoded by streamlog are decoded and encoded again by that crate, and must stay the same.
//! Since streamlog decodes its own bytes correctly (`round_trip_tests`), the other direction
//! follows.

use std::fmt::Debug;

use bytes::{Buf, Bytes};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Message as TheirMessage};

use super::*;
use crate::types::seeds;
use crate::wire::sample::{Sample, Samples};
use crate::wire::{
    ApiKey, Assignment, ErrorCode, Layout, Message, Subscription, Wire, Writer, encode_request,
    encode_response,
};

const SEEDS: u64 = 40;

fn encode(value: &impl Wire, layout: Layout) -> Bytes {
    let mut writer = Writer::new(layout);
    value.encode(&mut writer);
    writer.finish().unwrap()
}

fn agree<Ours, Theirs>(layout: Layout, name: &str)
where
    Ours: Wire + Sample + Debug,
    Theirs: Encodable + Decodable + Debug,
{
    for seed in seeds(SEEDS) {
        let value = Ours::sample(&mut Samples::new(seed, layout));
        let ours = encode(&value, layout);
        let mut rest = ours.clone();
        let read = Theirs::decode(&mut rest, layout.version)
            .unwrap_or_else(|error| panic!("{name} seed {seed}: {error} in {value:?}"));
        assert_eq!(rest.remaining(), 0, "{name} seed {seed}: {value:?}");
        let mut written = Vec::new();
        read.encode(&mut written, layout.version).unwrap();
        assert_eq!(written, ours, "{name} seed {seed}: {value:?} is {read:?}");
    }
}

/// Messages with a field whose default differs from Kafka's: null for a field that most senders
/// leave out, or −1 for "no follower".
const OTHER_DEFAULTS: [&str; 13] = [
    "AlterPartitionReassignments response",
    "DescribeAcls request",
    "DescribeAcls response",
    "DescribeClientQuotas response",
    "DescribeLogDirs request",
    "DescribeUserScramCredentials request",
    "DescribeUserScramCredentials response",
    "ElectLeaders request",
    "FindCoordinator response",
    "InitProducerId request",
    "ListOffsets request",
    "ListPartitionReassignments request",
    "ListPartitionReassignments response",
];

/// API versions that Kafka 4.1 to 4.4 added and the crate does not know yet. `tests/differential`
/// compares them with Apache Kafka itself.
const NEWER: [(ApiKey, i16); 6] = [
    (ApiKey::ApiVersions, 5),
    (ApiKey::DeleteGroups, 3),
    (ApiKey::DescribeLogDirs, 5),
    (ApiKey::ListOffsets, 11),
    (ApiKey::OffsetCommit, 10),
    (ApiKey::OffsetFetch, 10),
];

/// Checks that unset fields have the same meaning on both sides.
fn defaults_agree<Ours, Theirs>(layout: Layout, name: &str)
where
    Ours: Wire + Default,
    Theirs: Encodable + Default,
{
    if OTHER_DEFAULTS.iter().any(|other| name.starts_with(other)) {
        return;
    }
    let mut theirs = Vec::new();
    Theirs::default().encode(&mut theirs, layout.version).unwrap();
    assert_eq!(encode(&Ours::default(), layout), theirs, "{name}");
}

/// Checks an API in all versions known to both sides; returns the versions that only streamlog
/// knows.
fn agree_on<R, TheirRequest, TheirResponse>() -> Vec<(ApiKey, i16)>
where
    R: Message<Response: Sample + Default + Debug> + Sample + Default + Debug,
    TheirRequest: Encodable + Decodable + HeaderVersion + TheirMessage + Default + Debug,
    TheirResponse: Encodable + Decodable + HeaderVersion + TheirMessage + Default + Debug,
{
    let known =
        |version: i16| (TheirRequest::VERSIONS.min..=TheirRequest::VERSIONS.max).contains(&version);
    for version in R::VERSIONS.filter(|&version| known(version)) {
        let layout = Layout::of(R::KEY, version);
        let (request, response) =
            (format!("{} request v{version}", R::KEY), format!("{} response v{version}", R::KEY));
        agree::<R, TheirRequest>(layout, &request);
        agree::<R::Response, TheirResponse>(layout, &response);
        defaults_agree::<R, TheirRequest>(layout, &request);
        defaults_agree::<R::Response, TheirResponse>(layout, &response);
        headers_agree::<R, TheirRequest, TheirResponse>(version);
    }
    R::VERSIONS.filter(|&version| !known(version)).map(|version| (R::KEY, version)).collect()
}

/// Checks headers, by decoding whole frames with the crate.
fn headers_agree<R, TheirRequest, TheirResponse>(version: i16)
where
    R: Message<Response: Sample + Default + Debug> + Sample + Default + Debug,
    TheirRequest: Encodable + Decodable + HeaderVersion,
    TheirResponse: Encodable + Decodable + HeaderVersion,
{
    let samples = &mut Samples::new(1, Layout::of(R::KEY, version));
    let request = encode_request(7, "tester", version, &R::sample(samples)).unwrap();
    let mut frame = request.into_bytes();
    assert_eq!(usize::try_from(frame.get_i32()).unwrap(), frame.len());
    let header_version = TheirRequest::header_version(version);
    let header = theirs::RequestHeader::decode(&mut frame, header_version).unwrap();
    assert_eq!(header.request_api_key, R::KEY.number());
    assert_eq!(header.request_api_version, version);
    assert_eq!(header.correlation_id, 7);
    assert_eq!(header.client_id.as_deref(), Some("tester"));
    TheirRequest::decode(&mut frame, version).unwrap();
    assert_eq!(frame.remaining(), 0, "{} request v{version}", R::KEY);

    let response = encode_response::<R>(8, version, &Sample::sample(samples)).unwrap();
    let mut frame = response.into_bytes();
    assert_eq!(usize::try_from(frame.get_i32()).unwrap(), frame.len());
    let header_version = TheirResponse::header_version(version);
    let header = theirs::ResponseHeader::decode(&mut frame, header_version).unwrap();
    assert_eq!(header.correlation_id, 8);
    TheirResponse::decode(&mut frame, version).unwrap();
    assert_eq!(frame.remaining(), 0, "{} response v{version}", R::KEY);
}

macro_rules! agree_on_all {
    ($($request:ident $response:ident,)*) => {
        [$(agree_on::<$request, theirs::$request, theirs::$response>(),)*].concat()
    };
}

#[test]
fn every_message_is_decoded_equally_by_kafkas_codec() {
    let unknown_there = agree_on_all! {
        AlterConfigsRequest AlterConfigsResponse,
        AlterPartitionReassignmentsRequest AlterPartitionReassignmentsResponse,
        ApiVersionsRequest ApiVersionsResponse,
        CreateAclsRequest CreateAclsResponse,
        CreatePartitionsRequest CreatePartitionsResponse,
        CreateTopicsRequest CreateTopicsResponse,
        DeleteAclsRequest DeleteAclsResponse,
        DeleteGroupsRequest DeleteGroupsResponse,
        DeleteRecordsRequest DeleteRecordsResponse,
        DeleteTopicsRequest DeleteTopicsResponse,
        DescribeAclsRequest DescribeAclsResponse,
        DescribeClientQuotasRequest DescribeClientQuotasResponse,
        DescribeClusterRequest DescribeClusterResponse,
        DescribeConfigsRequest DescribeConfigsResponse,
        DescribeGroupsRequest DescribeGroupsResponse,
        DescribeLogDirsRequest DescribeLogDirsResponse,
        DescribeProducersRequest DescribeProducersResponse,
        DescribeTopicPartitionsRequest DescribeTopicPartitionsResponse,
        DescribeUserScramCredentialsRequest DescribeUserScramCredentialsResponse,
        ElectLeadersRequest ElectLeadersResponse,
        FetchRequest FetchResponse,
        FindCoordinatorRequest FindCoordinatorResponse,
        HeartbeatRequest HeartbeatResponse,
        IncrementalAlterConfigsRequest IncrementalAlterConfigsResponse,
        InitProducerIdRequest InitProducerIdResponse,
        JoinGroupRequest JoinGroupResponse,
        LeaveGroupRequest LeaveGroupResponse,
        ListConfigResourcesRequest ListConfigResourcesResponse,
        ListGroupsRequest ListGroupsResponse,
        ListOffsetsRequest ListOffsetsResponse,
        ListPartitionReassignmentsRequest ListPartitionReassignmentsResponse,
        MetadataRequest MetadataResponse,
        OffsetCommitRequest OffsetCommitResponse,
        OffsetDeleteRequest OffsetDeleteResponse,
        OffsetFetchRequest OffsetFetchResponse,
        OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse,
        ProduceRequest ProduceResponse,
        SyncGroupRequest SyncGroupResponse,
        UnregisterBrokerRequest UnregisterBrokerResponse,
    };
    assert_eq!(unknown_there, NEWER);
}

#[test]
fn the_consumer_protocol_is_decoded_equally_by_kafkas_codec() {
    for version in 0..=3 {
        let layout = Layout::classic(version);
        agree::<Subscription, theirs::ConsumerProtocolSubscription>(layout, "subscription");
        agree::<Assignment, theirs::ConsumerProtocolAssignment>(layout, "assignment");
    }
}

#[test]
fn the_error_codes_have_kafkas_names() {
    /// An error code that only Kafka 2.7 had.
    const RETIRED: i16 = 99;
    for code in (-1..=133).filter(|&code| code != RETIRED) {
        let named = kafka_protocol::ResponseError::try_from_code(code);
        let theirs = named.map(|error| format!("{error:?}").to_lowercase());
        let ours = ErrorCode::from(code).name().map(|name| name.to_lowercase().replace('_', ""));
        if let Some(theirs) = theirs {
            assert_eq!(ours, Some(theirs), "code {code}");
        }
    }
}

#[test]
fn the_apis_have_kafkas_numbers() {
    for key in ApiKey::ALL {
        if let Ok(theirs) = theirs::ApiKey::try_from(key.number()) {
            assert_eq!(format!("{theirs:?}"), key.name());
        }
    }
}
