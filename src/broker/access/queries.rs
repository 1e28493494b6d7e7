//! The queries of a request to partitions, and their answers. Both are grouped by topic, as in the
//! request and in its response.

use std::sync::Arc;

use crate::broker::errors::Refusal;
use crate::replication::{Partition, PartitionError};

/// The partitions of one topic of a request, each with its query, or with the answer to it.
#[derive(Debug)]
pub(crate) struct OfTopic<T> {
    /// The name of the topic.
    pub(crate) name: String,
    /// The partitions by their indexes, in the order of the request.
    pub(crate) partitions: Vec<(i32, Result<T, Refusal>)>,
}

/// A query with the partition to which it goes.
pub(crate) type Query<Q> = (Arc<Partition>, Q);

/// The function that answers a query.
pub(crate) type Answer<Q, T> = fn(&Partition, Q) -> Result<T, PartitionError>;

impl<Q> OfTopic<Query<Q>> {
    /// Answers the queries in order. A query that was refused before keeps its refusal.
    pub(crate) fn answered_by<T>(self, answer: Answer<Q, T>) -> OfTopic<T> {
        let answered = |(index, query): (i32, Result<Query<Q>, Refusal>)| {
            let answered = query.and_then(|(partition, query)| {
                answer(&partition, query).map_err(|error| Refusal::from(&error))
            });
            (index, answered)
        };
        let partitions = self.partitions.into_iter().map(answered).collect();
        OfTopic { name: self.name, partitions }
    }
}

impl<T> OfTopic<T> {
    /// The partitions `indexes` of a topic, all refused for the same reason.
    pub(crate) fn refused(name: String, indexes: Vec<i32>, reason: &Refusal) -> Self {
        let partitions = indexes.into_iter().map(|index| (index, Err(reason.clone()))).collect();
        Self { name, partitions }
    }

    /// The indexes of the partitions.
    pub(crate) fn indexes(&self) -> Vec<i32> {
        self.partitions.iter().map(|(index, _)| *index).collect()
    }

    /// The name of the topic, and the rows that a response has for its partitions.
    pub(crate) fn rows<R>(self, row: fn(i32, Result<T, Refusal>) -> R) -> (String, Vec<R>) {
        let row = |(index, answer)| row(index, answer);
        (self.name, self.partitions.into_iter().map(row).collect())
    }
}
