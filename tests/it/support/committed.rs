//! Committed offsets of partition 0 of the test's topic.

use streamlog::wire::ErrorCode;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};

use super::{Connection, TOPIC, accepted, once_loaded};

/// Has the broker create the topic of committed offsets, if there is none, and coordinate a group.
pub(crate) fn find_coordinator(client: &mut Connection, group: &str) {
    let find = FindCoordinatorRequest { key: group.to_owned(), ..Default::default() };
    assert_eq!(client.call(3, &find).unwrap().error_code, ErrorCode::None, "of group {group}");
}

/// Commits an offset of the test's topic for a group that has no members.
pub(crate) fn commit(client: &mut Connection, group: &str, committed_offset: i64) {
    let partition = offset_commit::RequestPartition { committed_offset, ..Default::default() };
    let topic = offset_commit::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: group.to_owned(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let answered = once_loaded(|| {
        let answered = client.call(9, &request).unwrap();
        accepted(answered.topics[0].partitions[0].error_code)
    });
    assert_eq!(answered, Ok(()), "of group {group}");
}

/// The stored offset, −1 if there is none.
pub(crate) fn stored(client: &mut Connection, group: &str) -> Result<i64, ErrorCode> {
    let topic = offset_fetch::RequestTopic {
        name: TOPIC.to_owned(),
        partition_indexes: vec![0],
        ..Default::default()
    };
    let group = offset_fetch::RequestGroup {
        group_id: group.to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    once_loaded(|| {
        let mut answered = client.call(9, &request).unwrap().groups.remove(0);
        accepted(answered.error_code).map(|()| answered.topics.remove(0))
    })
    .map(|topic| topic.partitions[0].committed_offset)
}
