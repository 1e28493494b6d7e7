//! Assignors: the distribution of partitions among members, computed as by other Kafka clients.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::consumer::config::Strategy;

/// A member with the topics it subscribed to.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) member: String,
    pub(crate) topics: BTreeSet<String>,
}

/// Partitions by topic.
pub(crate) type PartitionsByTopic = BTreeMap<String, Vec<i32>>;

impl Strategy {
    /// Computes the assignment of every member; `counts` has the number of partitions by topic.
    pub(crate) fn assign(
        self,
        members: &[Subscriber],
        counts: &BTreeMap<String, usize>,
    ) -> BTreeMap<String, PartitionsByTopic> {
        let mut members: Vec<&Subscriber> = members.iter().collect();
        members.sort_by(|one, other| one.member.cmp(&other.member));
        let mut assignments: BTreeMap<String, PartitionsByTopic> = members
            .iter()
            .map(|subscriber| (subscriber.member.clone(), PartitionsByTopic::new()))
            .collect();
        let mut give = |member: &Subscriber, topic: &str, partition: usize| {
            let share = assignments.entry(member.member.clone()).or_default();
            let partition = i32::try_from(partition).unwrap_or(i32::MAX);
            share.entry(topic.to_owned()).or_default().push(partition);
        };
        match self {
            Self::Range => by_range(&members, counts, &mut give),
            Self::RoundRobin => in_turn(&members, counts, &mut give),
        }
        assignments
    }
}

fn by_range(
    members: &[&Subscriber],
    counts: &BTreeMap<String, usize>,
    give: &mut impl FnMut(&Subscriber, &str, usize),
) {
    for (topic, &count) in counts {
        let subscribers: Vec<&Subscriber> =
            members.iter().copied().filter(|member| member.topics.contains(topic)).collect();
        let Some(each) = count.checked_div(subscribers.len()) else { continue };
        let more = count % subscribers.len();
        let mut first = 0;
        for (place, member) in subscribers.into_iter().enumerate() {
            let end = first + each + usize::from(place < more);
            (first..end).for_each(|partition| give(member, topic, partition));
            first = end;
        }
    }
}

fn in_turn(
    members: &[&Subscriber],
    counts: &BTreeMap<String, usize>,
    give: &mut impl FnMut(&Subscriber, &str, usize),
) {
    let mut turn = members.iter().copied().cycle();
    for (topic, &count) in counts {
        if !members.iter().any(|member| member.topics.contains(topic)) {
            continue;
        }
        for partition in 0..count {
            if let Some(member) = turn.find(|member| member.topics.contains(topic)) {
                give(member, topic, partition);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriber(member: &str, topics: &[&str]) -> Subscriber {
        let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        Subscriber { member: member.to_owned(), topics }
    }

    fn assign(strategy: Strategy, members: &[Subscriber], counts: &[(&str, usize)]) -> Vec<String> {
        let counts = counts.iter().map(|(topic, count)| ((*topic).to_owned(), *count)).collect();
        let assignments = strategy.assign(members, &counts);
        assignments.iter().map(|(member, share)| format!("{member} {share:?}")).collect()
    }

    #[test]
    fn ranges_are_contiguous_and_the_first_members_get_the_remainder() {
        let members =
            [subscriber("b", &["t", "u"]), subscriber("a", &["t"]), subscriber("c", &["t"])];
        let assignments = assign(Strategy::Range, &members, &[("t", 7), ("u", 2)]);
        assert_eq!(
            assignments,
            [r#"a {"t": [0, 1, 2]}"#, r#"b {"t": [3, 4], "u": [0, 1]}"#, r#"c {"t": [5, 6]}"#,]
        );
    }

    #[test]
    fn round_robin_skips_members_without_a_subscription_to_the_topic() {
        let members = [subscriber("a", &["t"]), subscriber("b", &["t", "u"])];
        let assignments = assign(Strategy::RoundRobin, &members, &[("t", 3), ("u", 2), ("v", 9)]);
        assert_eq!(assignments, [r#"a {"t": [0, 2]}"#, r#"b {"t": [1], "u": [0, 1]}"#]);
    }

    #[test]
    fn every_subscribed_partition_has_one_owner() {
        for strategy in [Strategy::Range, Strategy::RoundRobin] {
            for count in 0..20 {
                let members: Vec<Subscriber> =
                    (0..7).map(|number| subscriber(&number.to_string(), &["t"])).collect();
                let counts = [("t".to_owned(), count)].into();
                let assignments = strategy.assign(&members, &counts);
                let mut owned: Vec<i32> =
                    assignments.into_values().flatten().flat_map(|s| s.1).collect();
                owned.sort_unstable();
                assert!(owned.into_iter().eq((0..count).map(|n| i32::try_from(n).unwrap())));
            }
        }
    }
}
