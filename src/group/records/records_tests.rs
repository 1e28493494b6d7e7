//! The encoding of records of the internal topic.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::{CommittedOffset, DamagedRecord, GroupSnapshot, LogRecord, MemberSnapshot};
use crate::group::{Generation, GroupId, InstanceId, MemberId};
use crate::types::{LeaderEpoch, PartitionIndex, Timestamp, TopicId, TopicPartition};

fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition { topic: topic.parse().unwrap(), partition: PartitionIndex(index) }
}

/// The bytes of a hexadecimal string; spaces are ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn an_offset_has_the_bytes_of_kafkas_schemas() {
    let record = |topic_id| LogRecord::Offset {
        group: GroupId::from("g"),
        partition: partition("tt", 5),
        value: Some(CommittedOffset {
            offset: 258,
            leader_epoch: LeaderEpoch(7),
            metadata: "m".into(),
            committed_at: Timestamp::from_millis(1000),
            expires_at: None,
            topic_id,
        }),
    };
    let id = TopicId(std::array::from_fn(|index| u8::try_from(index).unwrap()));
    for (id, value) in [
        (TopicId::NONE, "0003 0000000000000102 00000007 0001 6d 00000000000003e8"),
        (
            id,
            "0004 0000000000000102 00000007 02 6d 00000000000003e8 \
             01 00 10 000102030405060708090a0b0c0d0e0f",
        ),
    ] {
        let record = record(id);
        let bytes = record.encode();
        assert_eq!(bytes.key, hex("0001 0001 67 0002 7474 00000005"));
        assert_eq!(bytes.value, Some(hex(value)));
        assert_eq!(LogRecord::decode(&bytes.key, bytes.value.as_deref()), Ok(record));
    }
}

#[test]
fn a_group_has_the_bytes_of_kafkas_schemas() {
    let member = MemberSnapshot {
        id: MemberId::from("a-1"),
        instance_id: None,
        client_id: "a".into(),
        client_host: "/h".into(),
        rebalance_timeout: Duration::from_millis(256),
        session_timeout: Duration::from_millis(16),
        subscription: Bytes::from_static(b"s"),
        assignment: Bytes::from_static(b"xy"),
    };
    let record = LogRecord::Group {
        group: GroupId::from("g"),
        value: Some(GroupSnapshot {
            protocol_type: Some("consumer".into()),
            generation: Generation(3),
            protocol: Some("r".into()),
            leader: Some(MemberId::from("a-1")),
            state_since: Some(Timestamp::from_millis(9)),
            members: vec![member],
        }),
    };
    let bytes = record.encode();
    assert_eq!(bytes.key, hex("0002 0001 67"));
    let head = "0003 0008 636f6e73756d6572 00000003 0001 72 0003 612d31 0000000000000009 00000001";
    let tail = "0003 612d31 ffff 0001 61 0002 2f68 00000100 00000010 00000001 73 00000002 7879";
    assert_eq!(bytes.value, Some([hex(head), hex(tail)].concat()));
    assert_eq!(LogRecord::decode(&bytes.key, bytes.value.as_deref()), Ok(record));
}

#[test]
fn older_layouts_are_read() {
    let key = hex("0000 0001 67 0002 7474 00000005");
    let read = |text: &str| match LogRecord::decode(&key, Some(&hex(text))) {
        Ok(LogRecord::Offset { value: Some(value), .. }) => value,
        other => panic!("{other:?}"),
    };
    let plain = read("0000 0000000000000102 0001 6d 00000000000003e8");
    assert_eq!((plain.offset, plain.leader_epoch), (258, LeaderEpoch::NONE));
    let expiring = read("0001 0000000000000102 0001 6d 00000000000003e8 00000000000003e9");
    assert_eq!(expiring.expires_at, Some(Timestamp::from_millis(1001)));
    let group = hex("0000 0001 63 00000003 ffff ffff 00000001 0001 61 0001 61 0001 68 00000010 \
                     00000000 00000000");
    match LogRecord::decode(&hex("0002 0001 67"), Some(&group)) {
        Ok(LogRecord::Group { value: Some(group), .. }) => {
            assert_eq!(group.members[0].rebalance_timeout, Duration::from_millis(16));
            assert_eq!(group.state_since, None);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_named() {
    let decode = |key: &str, value: &str| LogRecord::decode(&hex(key), Some(&hex(value))).err();
    assert_eq!(decode("0003 0001 67", ""), Some(DamagedRecord::KeyVersion(3)));
    assert_eq!(decode("0002 0001 67", "0009"), Some(DamagedRecord::ValueVersion(9)));
    assert_eq!(decode("0002 0001 67 00", ""), Some(DamagedRecord::Trailing(1)));
    assert_eq!(decode("0002 ffff", ""), Some(DamagedRecord::Length(-1)));
    assert_eq!(decode("0002 0001 ff", ""), Some(DamagedRecord::Text));
    let truncated = DamagedRecord::Truncated { wanted: 2, left: 1 };
    assert_eq!(decode("0002 0002 67", ""), Some(truncated));
    let many_members = "0003 0000 00000001 ffff ffff 0000000000000000 7fffffff";
    let truncated = DamagedRecord::Truncated { wanted: 2, left: 0 };
    assert_eq!(decode("0002 0001 67", many_members), Some(truncated));
    assert!(matches!(
        decode("0001 0001 67 0002 2e2e 00000000", "0003"),
        Some(DamagedRecord::Topic(_))
    ));
}

fn any_offset() -> impl Strategy<Value = LogRecord> {
    let value = (
        any::<i64>(),
        ".{0,40}",
        any::<i64>(),
        prop::option::of(0..i64::MAX),
        any::<(i32, [u8; 16])>(),
    )
        .prop_map(|(offset, metadata, at, expires, (epoch, id))| CommittedOffset {
            offset,
            // The version with an expiry time has neither an epoch nor a topic id.
            topic_id: if expires.is_some() { TopicId::NONE } else { TopicId(id) },
            leader_epoch: if expires.is_some() { LeaderEpoch::NONE } else { LeaderEpoch(epoch) },
            metadata: metadata.into(),
            committed_at: Timestamp::from_millis(at),
            expires_at: expires.map(Timestamp::from_millis),
        });
    (".{0,80}", "[a-z._-]{3,40}", any::<i32>(), prop::option::of(value)).prop_map(
        |(group, topic, index, value)| LogRecord::Offset {
            group: GroupId::from(group.as_str()),
            partition: partition(&topic, index),
            value,
        },
    )
}

fn any_member() -> impl Strategy<Value = MemberSnapshot> {
    let blob = || prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    (".{0,40}", prop::option::of(".{0,40}"), 0..i32::MAX, blob(), blob()).prop_map(
        |(id, instance, timeout, subscription, assignment)| MemberSnapshot {
            id: MemberId::from(id.as_str()),
            instance_id: instance.as_deref().map(InstanceId::from),
            client_id: id.clone().into(),
            client_host: "/127.0.0.1".into(),
            rebalance_timeout: Duration::from_millis(timeout.unsigned_abs().into()),
            session_timeout: Duration::from_millis(u64::from(timeout.unsigned_abs()) / 2),
            subscription,
            assignment,
        },
    )
}

fn any_group() -> impl Strategy<Value = LogRecord> {
    let members = prop::collection::vec(any_member(), 0..5);
    let name = || prop::option::of(".{1,20}");
    let value = (name(), any::<i32>(), name(), name(), prop::option::of(0..i64::MAX), members)
        .prop_map(|(protocol_type, generation, protocol, leader, since, members)| GroupSnapshot {
            protocol_type: protocol_type.map(Into::into),
            generation: Generation(generation),
            protocol: protocol.map(Into::into),
            leader: leader.as_deref().map(MemberId::from),
            state_since: since.map(Timestamp::from_millis),
            members,
        });
    (".{0,80}", prop::option::of(value))
        .prop_map(|(group, value)| LogRecord::Group { group: GroupId::from(group.as_str()), value })
}

proptest! {
    #[test]
    fn a_record_decodes_to_what_was_encoded(record in prop_oneof![any_offset(), any_group()]) {
        let bytes = record.encode();
        prop_assert_eq!(LogRecord::decode(&bytes.key, bytes.value.as_deref()), Ok(record));
    }

    #[test]
    fn a_truncated_record_is_an_error_and_never_a_shorter_record(
        record in prop_oneof![any_offset(), any_group()],
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = record.encode();
        if let Some(value) = bytes.value {
            let cut = cut.index(value.len());
            prop_assert!(LogRecord::decode(&bytes.key, Some(&value[..cut])).is_err());
        }
        let cut = cut.index(bytes.key.len());
        prop_assert!(LogRecord::decode(&bytes.key[..cut], None).is_err());
    }

    #[test]
    fn no_bytes_panic_the_decoder(
        kind in 0_u8..4,
        mut key in prop::collection::vec(any::<u8>(), 0..60),
        version in 0_u8..5,
        mut value in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        key.splice(0..0, [0, kind]);
        value.splice(0..0, [0, version]);
        let _ = LogRecord::decode(&key, Some(&value));
    }
}
