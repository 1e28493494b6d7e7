//! Fetch responses with records in files, and clients that decode them without copying.

use bytes::Bytes;

use super::fetch::{Partition, RequestPartition, Topic};
use super::{FetchRequest, FetchResponse};
use crate::wire::{
    EncodedFrame, ErrorCode, Layout, Message, Piece, Reader, Records, Wire, Writer,
    decode_response, encode_response,
};

/// Two topics with partitions that have records, none, or an error.
fn response(records: impl Fn(&'static [u8]) -> Records) -> FetchResponse {
    let partition = |partition_index, records| Partition {
        partition_index,
        high_watermark: 10,
        records,
        ..Partition::default()
    };
    let mut failed = partition(2, Records::Null);
    failed.error_code = ErrorCode::NotLeaderOrFollower;
    failed.current_leader.leader_id = 4;
    let topic =
        |name: &str, partitions| Topic { topic: name.to_owned(), partitions, ..Topic::default() };
    FetchResponse {
        session_id: 3,
        topics: vec![
            topic("a", vec![partition(0, records(b"first")), partition(1, records(b""))]),
            topic("b", vec![failed, partition(3, records(&[7; 300]))]),
        ],
        ..FetchResponse::default()
    }
}

/// The bytes that are sent when the gaps are filled from `files`.
fn send(frame: &EncodedFrame, files: &[&[u8]]) -> Vec<u8> {
    let bytes = |piece| match piece {
        Piece::Bytes(bytes) => bytes.to_vec(),
        Piece::Records(ordinal) => files.get(ordinal).unwrap().to_vec(),
    };
    frame.pieces().into_iter().flat_map(bytes).collect()
}

#[test]
fn pieces_and_files_together_are_the_frame_that_copying_would_make() {
    for version in FetchRequest::VERSIONS {
        let elsewhere = response(|records| Records::Elsewhere(records.len()));
        let frame = encode_response::<FetchRequest>(9, version, &elsewhere).unwrap();
        let sent = send(&frame, &[b"first", b"", &[7; 300]]);
        assert_eq!(sent.len(), frame.size(), "version {version}");
        let copied = response(|records| Records::Bytes(Bytes::from_static(records)));
        let copied = encode_response::<FetchRequest>(9, version, &copied).unwrap().into_bytes();
        assert_eq!(sent, copied, "version {version}");
        let prefix = i32::from_be_bytes(*sent.first_chunk().unwrap());
        assert_eq!(usize::try_from(prefix).unwrap(), sent.len() - 4, "version {version}");
    }
}

#[test]
fn empty_ranges_are_not_sent_and_keep_their_number() {
    let elsewhere = response(|records| Records::Elsewhere(records.len()));
    let frame = encode_response::<FetchRequest>(9, 12, &elsewhere).unwrap();
    let ordinals: Vec<usize> = frame
        .pieces()
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Records(ordinal) => Some(ordinal),
            Piece::Bytes(bytes) => {
                assert!(!bytes.is_empty());
                None
            }
        })
        .collect();
    assert_eq!(ordinals, [0, 2]);
}

#[test]
fn a_partition_without_records_takes_the_bytes_the_protocol_says() {
    let sizes = [(4, 30), (5, 38), (10, 38), (11, 42), (12, 37), (16, 37)];
    for (version, size) in sizes {
        let mut writer = Writer::new(Layout::of(FetchRequest::KEY, version));
        let transactions = (version < 12).then(Vec::new);
        Partition { aborted_transactions: transactions, ..Partition::default() }
            .encode(&mut writer);
        assert_eq!(writer.finish().unwrap().len(), size, "version {version}");
    }
}

#[test]
fn a_client_gets_slices_of_the_frame() {
    for version in FetchRequest::VERSIONS {
        let copied = response(|records| Records::Bytes(Bytes::from_static(records)));
        let frame = encode_response::<FetchRequest>(9, version, &copied).unwrap().into_bytes();
        let frame = frame.slice(4..);
        let (correlation_id, decoded) = decode_response::<FetchRequest>(&frame, version).unwrap();
        assert_eq!(correlation_id, 9);
        let records = &decoded.topics.last().unwrap().partitions.last().unwrap().records;
        let Records::Bytes(records) = records else { panic!("{records:?}") };
        assert_eq!(records, &[7; 300][..]);
        assert!(frame.as_ptr_range().contains(&records.as_ptr()), "version {version}: a copy");
    }
}

#[test]
fn a_followers_flushed_offset_travels_from_version_12_and_only_if_it_is_set() {
    let size = |version, flushed_offset| {
        let layout = Layout::of(FetchRequest::KEY, version);
        let mut writer = Writer::new(layout);
        let partition = RequestPartition { flushed_offset, ..RequestPartition::default() };
        partition.encode(&mut writer);
        let bytes = writer.finish().unwrap();
        let read = RequestPartition::decode(&mut Reader::new(&bytes, layout)).unwrap();
        (bytes.len(), read.flushed_offset)
    };
    assert_eq!(size(11, 5), (size(11, -1).0, -1));
    // The tag takes two bytes, its size one, its value eight.
    assert_eq!(size(12, 5), (size(12, -1).0 + 11, 5));
}
