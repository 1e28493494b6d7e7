//! `ElectLeaders`: returns partitions to their preferred leaders, or accepts a loss of records.
//!
//! Leaders are asked to hand over their partitions, and the response waits until the metadata shows
//! the hand-overs. An unclean election, which gives up records, is held only for a single
//! partition. Its leader is named in a field that only `streamlog partition elect` sends. Another
//! field, of `streamlog partition rebuild-state`, has the state of a partition made again.

use std::sync::Arc;
use std::time::Duration;

use crate::broker::access::{Cluster, ExpectedMove, PreferredElections};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::metadata::{Image, Partition as PartitionImage, Topic as TopicImage, UncleanElection};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::elect_leaders::{
    AcceptedLoss, ElectLeadersRequest, ElectLeadersResponse, PREFERRED, Partition, REBUILD,
    RequestTopic, Topic, UNCLEAN,
};

pub(crate) type Request = ElectLeadersRequest;

/// Responds once each partition has the requested leader or cannot get it, or once the request's
/// timeout has passed.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    elections: &PreferredElections<'_>,
    request: Request,
) -> ElectLeadersResponse {
    let refused = |error_code| ElectLeadersResponse { error_code, ..Default::default() };
    if !call.session.may(Operation::Alter, Resource::Cluster) {
        return refused(ErrorCode::ClusterAuthorizationFailed);
    }
    let kind = request.election_type;
    if !matches!(kind, PREFERRED | UNCLEAN | REBUILD) {
        return refused(ErrorCode::InvalidRequest);
    }
    if kind == REBUILD || kind == UNCLEAN && request.accepted_loss.leader >= 0 {
        return decide(call, cluster, request).await;
    }
    let before = cluster.image();
    let wanted = request.topic_partitions.unwrap_or_else(|| all(&before, kind));
    if kind == PREFERRED {
        let limit = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
        if request.begins_only {
            // The asking broker may have a newer image. In this broker's image, the preferred
            // leader may not be in sync yet.
            elections.begin_own(&moves_among(&before, &wanted, |_| true), limit);
            return ElectLeadersResponse::default();
        }
        let moves = expected_moves(&before, &wanted);
        elections.begin_own(&moves, limit);
        elections.begin_others(&moves, limit);
        let settled = cluster.wait_until(|image| !is_any_expected(image, &wanted), limit);
        // If the wait is cancelled, the answer reports the elections so far.
        let _ = call.cancel.run_until_cancelled(settled).await;
    }
    let after = cluster.image();
    let answer = |topic: RequestTopic| answer(&before, &after, kind, topic);
    let replica_election_results = wanted.into_iter().map(answer).collect();
    ElectLeadersResponse { replica_election_results, ..ElectLeadersResponse::default() }
}

/// Carries out an operator's decision about the only partition of the request.
async fn decide(call: &Call<'_>, cluster: &Cluster<'_>, request: Request) -> ElectLeadersResponse {
    let invalid = || {
        let error_code = ErrorCode::InvalidRequest;
        ElectLeadersResponse { error_code, ..ElectLeadersResponse::default() }
    };
    let topics = request.topic_partitions.unwrap_or_default();
    let [RequestTopic { topic, partitions }] = topics.as_slice() else { return invalid() };
    let ([index], Ok(name)) = (partitions.as_slice(), topic.parse::<TopicName>()) else {
        return invalid();
    };
    let partition = TopicPartition { topic: name, partition: PartitionIndex(*index) };
    let asked_by = format!("{} ({})", call.session.identity(), call.client_id);
    let decided = if request.election_type == REBUILD {
        let epoch = LeaderEpoch(request.rebuilt_epoch);
        if !(0..i32::MAX).contains(&epoch.0) {
            return invalid();
        }
        cluster.rebuild_state(partition, epoch, &asked_by).await
    } else {
        let AcceptedLoss { leader, given_up_from, accepts_two_leaders } = request.accepted_loss;
        let Some(given_up_from) = Offset::checked(given_up_from) else { return invalid() };
        let TopicPartition { topic, partition } = partition;
        let leader = BrokerId(leader);
        let wanted = UncleanElection {
            topic,
            partition,
            leader,
            given_up_from,
            accepts_two_leaders,
            asked_by,
        };
        cluster.elect_unclean(wanted).await
    };
    let refusal = decided.err().unwrap_or_else(|| Refusal::of(ErrorCode::None));
    let Refusal { code: error_code, message: error_message, .. } = refusal;
    let partition_result = vec![Partition { partition_id: *index, error_code, error_message }];
    let replica_election_results = vec![Topic { topic: topic.clone(), partition_result }];
    ElectLeadersResponse { replica_election_results, ..ElectLeadersResponse::default() }
}

/// All partitions that need another leader.
fn all(image: &Image, kind: i8) -> Vec<RequestTopic> {
    let of_topic = |topic: &Arc<TopicImage>| {
        let concerned = topic.numbered().filter(|(_, partition)| match kind {
            UNCLEAN => partition.leader().is_none(),
            _ => !is_led_by_preferred(partition),
        });
        let partitions: Vec<i32> = concerned.map(|(index, _)| index.0).collect();
        let topic = topic.name.to_string();
        (!partitions.is_empty()).then_some(RequestTopic { topic, partitions })
    };
    image.topics().filter_map(of_topic).collect()
}

fn find<'a>(image: &'a Image, topic: &str, index: i32) -> Option<&'a PartitionImage> {
    image.partition(&topic.parse::<TopicName>().ok()?, PartitionIndex(index))
}

/// Returns true if a leader can hand one of these partitions over.
fn is_any_expected(image: &Image, wanted: &[RequestTopic]) -> bool {
    !expected_moves(image, wanted).is_empty()
}

/// The requested partitions whose leaders can hand them over to their preferred leaders.
fn expected_moves(image: &Image, wanted: &[RequestTopic]) -> Vec<ExpectedMove> {
    moves_among(image, wanted, |partition| is_expected(image, partition))
}

/// The requested partitions that have a leader and for which `is_due` returns true.
fn moves_among(
    image: &Image,
    wanted: &[RequestTopic],
    is_due: impl Fn(&PartitionImage) -> bool,
) -> Vec<ExpectedMove> {
    let of_topic = |RequestTopic { topic, partitions }: &RequestTopic| {
        let Ok(name) = topic.parse::<TopicName>() else { return Vec::new() };
        let Some(found) = image.topic(&name) else { return Vec::new() };
        let expected = partitions.iter().filter_map(|index| {
            let index = PartitionIndex(*index);
            let partition = found.partition(index)?;
            let leader = partition.leader().filter(|_| is_due(partition))?;
            Some(ExpectedMove { leader, topic: topic.clone(), topic_id: found.id, index })
        });
        expected.collect()
    };
    wanted.iter().flat_map(of_topic).collect()
}

/// Returns true if the leader of a partition is not the preferred one and can hand over to it.
fn is_expected(image: &Image, partition: &PartitionImage) -> bool {
    let may_take_over = |preferred| image.may_take_over(partition, preferred);
    let preferred = partition.replicas.first().copied();
    partition.leader().is_some()
        && !is_led_by_preferred(partition)
        && preferred.is_some_and(may_take_over)
}

fn is_led_by_preferred(partition: &PartitionImage) -> bool {
    partition.leader().is_some() && partition.leader() == partition.replicas.first().copied()
}

/// The results of the requested partitions of a topic.
fn answer(before: &Image, after: &Image, kind: i8, topic: RequestTopic) -> Topic {
    let result = |index: i32| {
        let partitions = find(before, &topic.topic, index).zip(find(after, &topic.topic, index));
        let refusal = match partitions {
            Some((before, partition)) if kind == PREFERRED => preferred(before, after, partition),
            Some((_, partition)) => unclean(partition),
            None => Refusal::of(ErrorCode::UnknownTopicOrPartition),
        };
        let Refusal { code: error_code, message: error_message, .. } = refusal;
        Partition { partition_id: index, error_code, error_message }
    };
    let partition_result = topic.partitions.iter().copied().map(result).collect();
    Topic { topic: topic.topic, partition_result }
}

/// The result of a preferred election, from the states of the partition at the request and now.
fn preferred(before: &PartitionImage, image: &Image, now: &PartitionImage) -> Refusal {
    if is_led_by_preferred(before) && is_led_by_preferred(now) {
        return Refusal::because(ErrorCode::ElectionNotNeeded, &"the preferred leader leads");
    }
    if is_led_by_preferred(now) {
        return Refusal::of(ErrorCode::None);
    }
    if is_expected(image, now) {
        return Refusal::because(
            ErrorCode::RequestTimedOut,
            &"the preferred leader is in sync, but the leader has not handed over in time",
        );
    }
    Refusal::because(
        ErrorCode::PreferredLeaderNotAvailable,
        &"the preferred leader is not alive, or has not caught up",
    )
}

/// The result of an unclean election without an accepted loss; such an election is never held.
fn unclean(partition: &PartitionImage) -> Refusal {
    if partition.leader().is_some() {
        return Refusal::because(ErrorCode::ElectionNotNeeded, &"the partition has a leader");
    }
    Refusal::because(
        ErrorCode::EligibleLeadersNotAvailable,
        &"no replica that has all records is alive; 'streamlog partition elect' elects another",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_does_not_elect_a_leader_for_a_partition_without_one() {
        let partition = PartitionImage { replicas: [BrokerId(1)].into(), state: None };
        let image = Image::default();
        let refusal = preferred(&partition, &image, &partition);
        assert_eq!(refusal.code, ErrorCode::PreferredLeaderNotAvailable);
        assert_eq!(unclean(&partition).code, ErrorCode::EligibleLeadersNotAvailable);
        let topic = RequestTopic { topic: "t".to_owned(), partitions: vec![0] };
        let answer = answer(&image, &image, PREFERRED, topic);
        assert_eq!(answer.partition_result[0].error_code, ErrorCode::UnknownTopicOrPartition);
    }
}
