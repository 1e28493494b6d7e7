//! Reads any bytes as a frame with a request in it. What can be read is the same again after it
//! was written.

use streamlog::wire::{self, ApiKey, Message, RequestHeader, encode_request};

/// Panics when a promise is broken.
pub(crate) fn run(bytes: &[u8]) {
    let Ok((header, _)) = RequestHeader::decode(bytes) else { return };
    macro_rules! read_as {
        ($($request:ident),+ $(,)?) => {
            match header.api_key {
                $(key if key == <wire::$request as Message>::KEY => read::<wire::$request>(bytes),)+
                ApiKey::Produce => view(bytes),
                _ => {}
            }
        };
    }
    read_as!(
        AlterConfigsRequest,
        AlterPartitionReassignmentsRequest,
        ApiVersionsRequest,
        CreateAclsRequest,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteAclsRequest,
        DeleteGroupsRequest,
        DeleteRecordsRequest,
        DeleteTopicsRequest,
        DescribeAclsRequest,
        DescribeClientQuotasRequest,
        DescribeClusterRequest,
        DescribeConfigsRequest,
        DescribeGroupsRequest,
        DescribeLogDirsRequest,
        DescribeProducersRequest,
        DescribeTopicPartitionsRequest,
        DescribeUserScramCredentialsRequest,
        ElectLeadersRequest,
        FetchRequest,
        FindCoordinatorRequest,
        HeartbeatRequest,
        IncrementalAlterConfigsRequest,
        InitProducerIdRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        ListConfigResourcesRequest,
        ListGroupsRequest,
        ListOffsetsRequest,
        ListPartitionReassignmentsRequest,
        MetadataRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        OffsetFetchRequest,
        OffsetForLeaderEpochRequest,
        SyncGroupRequest,
        UnregisterBrokerRequest,
    );
}

fn read<R: Message + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let decode = |bytes: &[u8]| {
        let (header, mut body) = RequestHeader::decode(bytes).ok()?;
        Some((header.version, header.decode_body::<R>(&mut body).ok()?))
    };
    let Some((version, request)) = decode(bytes) else { return };
    let frame = encode_request(1, "fuzz", version, &request).unwrap().into_bytes();
    let (_, again) = decode(&frame[4..]).unwrap();
    assert_eq!(again, request);
}

fn view(bytes: &[u8]) {
    let Ok((_, mut body)) = RequestHeader::decode(bytes) else { return };
    let Ok(view) = wire::ProduceRequestView::decode(&mut body) else { return };
    for part in view.partitions() {
        let Ok(part) = part else { return };
        assert!(
            part.records.is_none_or(|range| range.start <= range.end && range.end <= bytes.len())
        );
    }
}
