//! Reads any bytes as a request. What can be read reads the same when it is written again.
#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use streamlog::wire::{self, Message, Reader, RequestHeader, encode_request};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, body)) = RequestHeader::decode(bytes) {
        read(&header, body);
    }
});

macro_rules! read_as {
    ($($request:ident)*) => {
        fn read(header: &RequestHeader<'_>, body: Reader<'_>) {
            $(if header.api_key == wire::$request::KEY {
                reads_the_same_again::<wire::$request>(header, body.clone());
            })*
        }
    };
}

read_as! {
    AlterConfigsRequest
    AlterPartitionReassignmentsRequest
    ApiVersionsRequest
    CreateAclsRequest
    CreatePartitionsRequest
    CreateTopicsRequest
    DeleteAclsRequest
    DeleteGroupsRequest
    DeleteRecordsRequest
    DeleteTopicsRequest
    DescribeAclsRequest
    DescribeClientQuotasRequest
    DescribeClusterRequest
    DescribeConfigsRequest
    DescribeGroupsRequest
    DescribeLogDirsRequest
    DescribeProducersRequest
    DescribeTopicPartitionsRequest
    DescribeUserScramCredentialsRequest
    ElectLeadersRequest
    FetchRequest
    FindCoordinatorRequest
    HeartbeatRequest
    IncrementalAlterConfigsRequest
    InitProducerIdRequest
    JoinGroupRequest
    LeaveGroupRequest
    ListConfigResourcesRequest
    ListGroupsRequest
    ListOffsetsRequest
    ListPartitionReassignmentsRequest
    MetadataRequest
    OffsetCommitRequest
    OffsetDeleteRequest
    OffsetFetchRequest
    OffsetForLeaderEpochRequest
    ProduceRequest
    SyncGroupRequest
}

fn reads_the_same_again<R: Message + PartialEq + Debug>(
    header: &RequestHeader<'_>,
    mut body: Reader<'_>,
) {
    let Ok(request) = header.decode_body::<R>(&mut body) else { return };
    let name = header.client_id.unwrap_or_default();
    let frame = encode_request(header.correlation_id, name, header.version, &request);
    let frame = frame.expect("what was read can be written").into_bytes();
    let (header, mut body) = RequestHeader::decode(&frame[4..]).expect("a header was written");
    let again: R = header.decode_body(&mut body).expect("a body was written");
    assert_eq!(again, request);
}
