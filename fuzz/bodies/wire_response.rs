//! Reads any bytes as a broker's answer: the first byte says to which request, the second in which
//! version.

use bytes::Bytes;
use streamlog::wire::{self, Message, decode_response, encode_response};

/// Panics when a promise is broken.
pub(crate) fn run(bytes: &[u8]) {
    let [api, version, frame @ ..] = bytes else { return };
    let frame = Bytes::copy_from_slice(frame);
    if let Some(answer) = ANSWERS.get(usize::from(*api)) {
        (answer.read)(&frame, i16::from(*version));
    }
}

/// The shortest answer to every request in every version.
pub(crate) fn shortest() -> Vec<Vec<u8>> {
    let all = ANSWERS.iter().zip(0_u8..);
    all.flat_map(|(answer, api)| {
        let versions = (0_u8..).zip((answer.shortest)());
        versions.filter_map(move |(version, frame)| Some([&[api, version], &frame?[..]].concat()))
    })
    .collect()
}

struct Answer {
    read: fn(&Bytes, i16),
    shortest: fn() -> Vec<Option<Bytes>>,
}

impl Answer {
    const fn to<R: Message<Response: Default>>() -> Self {
        Self { read: read::<R>, shortest: shortest_of::<R> }
    }
}

const ANSWERS: &[Answer] = &[
    Answer::to::<wire::ApiVersionsRequest>(),
    Answer::to::<wire::CreatePartitionsRequest>(),
    Answer::to::<wire::CreateTopicsRequest>(),
    Answer::to::<wire::DeleteTopicsRequest>(),
    Answer::to::<wire::DescribeConfigsRequest>(),
    Answer::to::<wire::FetchRequest>(),
    Answer::to::<wire::FindCoordinatorRequest>(),
    Answer::to::<wire::HeartbeatRequest>(),
    Answer::to::<wire::InitProducerIdRequest>(),
    Answer::to::<wire::JoinGroupRequest>(),
    Answer::to::<wire::LeaveGroupRequest>(),
    Answer::to::<wire::ListOffsetsRequest>(),
    Answer::to::<wire::MetadataRequest>(),
    Answer::to::<wire::OffsetCommitRequest>(),
    Answer::to::<wire::OffsetFetchRequest>(),
    Answer::to::<wire::ProduceRequest>(),
    Answer::to::<wire::SyncGroupRequest>(),
    Answer::to::<wire::UnregisterBrokerRequest>(),
];

fn read<R: Message>(frame: &Bytes, version: i16) {
    // Whether it can be read is its writer's business; here it only must not do harm.
    let _ = decode_response::<R>(frame, version);
}

fn shortest_of<R: Message<Response: Default>>() -> Vec<Option<Bytes>> {
    let one = |version| {
        let frame = encode_response::<R>(1, version, &R::Response::default()).ok()?;
        Some(frame.into_bytes().slice(4..))
    };
    (0..=*R::VERSIONS.end()).map(one).collect()
}
