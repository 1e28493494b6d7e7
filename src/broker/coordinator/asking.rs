//! Passes requests to the coordinators of their groups, and the responses back.
//!
//! A request is queued before the response is awaited, so that the requests of a client take effect
//! in order even if the client disconnects.

use std::marker::PhantomData;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::broker::coordinator::coordinators::{CoordinatorHandle, Coordinators};
use crate::broker::coordinator::offsets_topic::{
    OffsetsTopicConfig, coordinator_of, ensure_offsets_topic, partition_of,
};
use crate::broker::coordinator::question::Question;
use crate::broker::coordinator::task::Message;
use crate::broker::errors::Refusal;
use crate::engine::EngineState;
use crate::group::{Answer, GroupError, GroupFilter, GroupId, ListedGroup, Unavailable};
use crate::metadata::Image;
use crate::replication::Partition;
use crate::types::BrokerId;

/// Access to the groups that this broker coordinates, on behalf of one request.
pub(crate) struct Groups<'a> {
    coordinators: &'a Coordinators,
    engine: &'a Arc<EngineState>,
    /// The configuration with which the internal topic is created.
    offsets_topic: &'a OffsetsTopicConfig,
    /// Cancelled when the request must stop waiting.
    cancel: &'a CancellationToken,
}

/// A request in its coordinator's queue.
struct Asked<Q> {
    answer: oneshot::Receiver<Answer>,
    coordinator: CoordinatorHandle,
    question: PhantomData<Q>,
}

impl<'a> Groups<'a> {
    /// Creates access to the groups of `coordinators`. No request waits after `cancel` is
    /// cancelled.
    pub(crate) fn new(
        coordinators: &'a Coordinators,
        engine: &'a Arc<EngineState>,
        offsets_topic: &'a OffsetsTopicConfig,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self { coordinators, engine, offsets_topic, cancel }
    }

    /// The broker that coordinates `group`, or `None` while the group's partition has no leader,
    /// with the image from which it was determined. Creates the internal topic if necessary.
    pub(crate) async fn find_coordinator(
        &self,
        group: &GroupId,
    ) -> Result<(Arc<Image>, Option<BrokerId>), Refusal> {
        let image = ensure_offsets_topic(self.engine, self.offsets_topic).await?;
        let broker = coordinator_of(&image, group);
        Ok((image, broker))
    }

    /// Notifies the coordinator of a partition, if there is one, that all damage of its log was
    /// skipped.
    pub(crate) async fn damage_skipped(&self, partition: &Partition) {
        self.coordinators.damage_skipped(partition).await;
    }

    /// Sends a request to the coordinator of `group`, and waits for the response.
    pub(crate) async fn ask<Q: Question>(
        &self,
        group: &GroupId,
        question: Q,
    ) -> Result<Q::Answer, GroupError> {
        let coordinator = self.coordinator(group)?;
        enqueue(coordinator, question).await?.answer(self.cancel).await
    }

    /// Sends requests about several groups at once, so that the records of their coordinators are
    /// flushed together. Responses are in the order of the requests.
    pub(crate) async fn ask_each<Q: Question>(
        &self,
        questions: Vec<(GroupId, Q)>,
    ) -> Vec<Result<Q::Answer, GroupError>> {
        let mut asked = Vec::with_capacity(questions.len());
        for (group, question) in questions {
            asked.push(match self.coordinator(&group) {
                Ok(coordinator) => enqueue(coordinator, question).await,
                Err(error) => Err(error),
            });
        }
        collect(self.cancel, asked).await
    }

    /// The groups of all coordinators of this broker that pass the filter.
    pub(crate) async fn list(&self, filter: &GroupFilter) -> Result<Vec<ListedGroup>, GroupError> {
        let mut asked = Vec::new();
        for coordinator in self.coordinators.all() {
            asked.push(enqueue(coordinator, filter.clone()).await);
        }
        let lists: Result<Vec<_>, _> = collect(self.cancel, asked).await.into_iter().collect();
        let groups = lists.map(|lists| lists.into_iter().flatten().collect());
        groups.map_err(|error| match error {
            // Only this broker's groups are listed, so a retry at another coordinator would not
            // help.
            GroupError::Unavailable(Unavailable::NotCoordinator) => {
                Unavailable::NotAvailable.into()
            }
            error => error,
        })
    }

    fn coordinator(&self, group: &GroupId) -> Result<CoordinatorHandle, GroupError> {
        let index = partition_of(&self.engine.image(), group);
        let found = index.and_then(|index| self.coordinators.find(index));
        found.ok_or_else(|| Unavailable::NotCoordinator.into())
    }
}

async fn enqueue<Q: Question>(
    coordinator: CoordinatorHandle,
    question: Q,
) -> Result<Asked<Q>, GroupError> {
    let (sender, answer) = oneshot::channel();
    let request = Box::new(question.into_request());
    match coordinator.inbox.send(Message::Ask { request, answer: sender }).await {
        Ok(()) => Ok(Asked { answer, coordinator, question: PhantomData }),
        Err(_) => Err(Unavailable::NotCoordinator.into()),
    }
}

async fn collect<Q: Question>(
    cancel: &CancellationToken,
    asked: Vec<Result<Asked<Q>, GroupError>>,
) -> Vec<Result<Q::Answer, GroupError>> {
    let mut answers = Vec::with_capacity(asked.len());
    for asked in asked {
        answers.push(match asked {
            Ok(asked) => asked.answer(cancel).await,
            Err(error) => Err(error),
        });
    }
    answers
}

impl<Q: Question> Asked<Q> {
    async fn answer(self, cancel: &CancellationToken) -> Result<Q::Answer, GroupError> {
        let answer = tokio::select! {
            biased;
            answer = self.answer => answer,
            // The connection has ended, or a large request has held its memory for too long.
            () = cancel.cancelled() => return Err(Unavailable::NotAvailable.into()),
        };
        // Check the lease at the last moment. A refused request has taken effect all the same, as
        // if its response had been lost: a heartbeat counts, and the client repeats a commit.
        self.coordinator.check_may_answer().map_err(|_| Unavailable::NotCoordinator)?;
        match answer.map(Q::read) {
            Ok(Some(answer)) => answer,
            Ok(None) => unreachable!("a coordinator answered another question"),
            // The coordinator ended before it reached the request.
            Err(_) => Err(Unavailable::NotCoordinator.into()),
        }
    }
}
