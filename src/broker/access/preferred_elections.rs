//! Elections of preferred leaders: the present leader of each partition is asked to hand it over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::broker::access::Peers;
use crate::engine::EngineState;
use crate::replica_manager::Elections;
use crate::types::{BrokerId, PartitionIndex, TopicId};
use crate::wire::elect_leaders::RequestTopic;

/// Starts elections of preferred leaders, on this broker and on others.
pub(crate) struct PreferredElections<'a> {
    engine: &'a Arc<EngineState>,
    peers: &'a Arc<Peers>,
    elections: &'a Elections,
}

/// A partition whose leader can hand it over to the preferred leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedMove {
    /// The broker that leads the partition.
    pub(crate) leader: BrokerId,
    /// The name of the topic.
    pub(crate) topic: String,
    /// The id of the topic.
    pub(crate) topic_id: TopicId,
    /// The number of the partition.
    pub(crate) index: PartitionIndex,
}

impl<'a> PreferredElections<'a> {
    /// Creates access to the elections of a broker.
    pub(crate) fn new(
        engine: &'a Arc<EngineState>,
        peers: &'a Arc<Peers>,
        elections: &'a Elections,
    ) -> Self {
        Self { engine, peers, elections }
    }

    /// Requests hand-overs of the partitions that this broker leads; they are attempted for at most
    /// `within`.
    pub(crate) fn begin_own(&self, moves: &[ExpectedMove], within: Duration) {
        let me = self.engine.config.broker_id;
        let own = moves.iter().filter(|step| step.leader == me);
        let until = self.engine.clock.monotonic().saturating_add(within);
        self.elections.ask(own.map(|step| (step.topic_id, step.index)), until);
    }

    /// Asks the other leaders of these partitions to hand them over, and to try for at most
    /// `within`.
    pub(crate) fn begin_others(&self, moves: &[ExpectedMove], within: Duration) {
        let me = self.engine.config.broker_id;
        let mut by_leader: BTreeMap<BrokerId, BTreeMap<&str, Vec<i32>>> = BTreeMap::new();
        for step in moves.iter().filter(|step| step.leader != me) {
            let topics = by_leader.entry(step.leader).or_default();
            topics.entry(&step.topic).or_default().push(step.index.0);
        }
        for (leader, topics) in by_leader {
            let topics = topics
                .into_iter()
                .map(|(topic, partitions)| RequestTopic { topic: topic.to_owned(), partitions });
            self.peers.elect_preferred(leader, topics.collect(), within);
        }
    }
}
