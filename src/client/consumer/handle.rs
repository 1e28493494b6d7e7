//! The consumer's handle.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::assignment::Slot;
use super::changes::Change;
use super::config::{ConsumerConfig, Start};
use super::fetching::Fetcher;
use super::membership::{Member, Membership};
use super::shared::Shared;
use super::topics::{check_found, distinct, find, topics_of};
use crate::client::call::Call;
use crate::client::core::Core;
use crate::client::offsets::{OffsetQuery, list_offsets};
use crate::client::{ClientError, FoundOffset};
use crate::config::ConfigError;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::list_offsets as at;

/// The time that closing waits for the last commit and for leaving the group.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// A consumer of given partitions, or of its assignment in a group.
///
/// It may be used from several threads; each message is returned once. `close` from any thread ends
/// all pending calls.
#[derive(Debug)]
pub struct Consumer {
    pub(super) core: Arc<Core>,
    pub(super) shared: Arc<Shared>,
    membership: Option<Arc<Membership>>,
    tasks: Vec<AbortHandle>,
}

/// A reference that does not keep a consumer open, for the client that closes it.
#[derive(Clone, Debug)]
pub(crate) struct WeakConsumer {
    shared: Weak<Shared>,
    membership: Option<Arc<Membership>>,
    tasks: Vec<AbortHandle>,
}

impl Consumer {
    /// Creates a consumer of `topics`: all of their partitions, or the assignment in
    /// `config.group`.
    pub(crate) fn of_topics(
        core: Arc<Core>,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names = distinct(topics)?;
        let counts = find(&core, names.clone(), config.auto_create_topics).wait()?;
        Ok(Self::of_found(core, names, counts, config))
    }

    /// [`of_topics`](Self::of_topics) as a future.
    pub(crate) async fn making_of_topics(
        core: Arc<Core>,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names = distinct(topics)?;
        let counts = find(&core, names.clone(), config.auto_create_topics).await?;
        Ok(Self::of_found(core, names, counts, config))
    }

    /// Creates a consumer of topics with these numbers of partitions.
    fn of_found(
        core: Arc<Core>,
        names: Vec<TopicName>,
        counts: Vec<usize>,
        config: ConsumerConfig,
    ) -> Self {
        if config.group.id.is_some() {
            return Self::start_member(core, names, config);
        }
        let mut partitions = Vec::new();
        for (topic, count) in names.into_iter().zip(counts) {
            for index in 0..count {
                let partition = PartitionIndex(i32::try_from(index).unwrap_or(i32::MAX));
                partitions.push((TopicPartition { topic: topic.clone(), partition }, config.start));
            }
        }
        let shared = Shared::new(Arc::clone(&core.brokers), config, true);
        shared.assign(partitions);
        Self::start(core, shared)
    }

    /// Creates a consumer of some partitions, each with its own start.
    pub(crate) fn of_partitions(
        core: Arc<Core>,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names = topics_of(partitions);
        let counts = find(&core, names.clone(), config.auto_create_topics).wait()?;
        check_found(partitions, &names, &counts)?;
        Ok(Self::of_known(core, partitions, config))
    }

    /// [`of_partitions`](Self::of_partitions) as a future.
    pub(crate) async fn making_of_partitions(
        core: Arc<Core>,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names = topics_of(partitions);
        let counts = find(&core, names.clone(), config.auto_create_topics).await?;
        check_found(partitions, &names, &counts)?;
        Ok(Self::of_known(core, partitions, config))
    }

    /// Creates a consumer of partitions known to exist.
    fn of_known(
        core: Arc<Core>,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Self {
        let shared = Shared::new(Arc::clone(&core.brokers), config, false);
        shared.assign(partitions.to_vec());
        Self::start(core, shared)
    }

    fn start(core: Arc<Core>, shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let task = core.brokers.tasks().start(Fetcher::new(Arc::clone(&shared)).run());
        Self { core, shared, membership: None, tasks: vec![task] }
    }

    fn start_member(core: Arc<Core>, topics: Vec<TopicName>, config: ConsumerConfig) -> Self {
        let membership = Arc::new(Membership::new(config.group.clone()));
        let shared = Shared::new(Arc::clone(&core.brokers), config, false);
        let mut consumer = Self::start(core, shared);
        let member = Member::new(Arc::clone(&consumer.shared), Arc::clone(&membership), topics);
        consumer.tasks.push(consumer.core.brokers.tasks().start(member.run()));
        consumer.membership = Some(membership);
        consumer
    }

    /// Moves the position of every partition to `start`.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed.
    pub fn seek_all(&self, start: Start) -> Result<(), ClientError> {
        self.check_open()?;
        for (slot, state) in self.slots().into_iter().enumerate() {
            if state.is_assigned {
                self.shared.seek(slot, start);
            }
        }
        Ok(())
    }

    /// Moves the position of one partition to `start`.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] if the partition is not assigned; [`ClientError::Closed`]
    /// once it is closed.
    pub fn seek(&self, partition: &TopicPartition, start: Start) -> Result<(), ClientError> {
        self.check_open()?;
        self.shared.seek(self.slot_of(partition)?, start);
        Ok(())
    }

    /// Marks all returned messages as processed, as a request for the next message does.
    pub fn finish(&self) {
        self.shared.finish();
    }

    /// Ends reading after the returned messages: the next call fails with [`ClientError::Closed`]
    /// and marks them as processed.
    pub fn end(&self) {
        self.shared.end();
    }

    /// Takes the assigned and revoked partitions since the last call, if the consumer was
    /// configured to report them. Reading is interrupted with `Ok(None)` while there are unreported
    /// changes.
    pub fn take_changes(&self) -> Option<Change> {
        self.shared.take_changes()
    }

    /// Returns true if [`take_changes`](Self::take_changes) has something to return.
    pub fn has_changes(&self) -> bool {
        self.shared.has_changes()
    }

    /// Pauses or resumes a partition. Its fetched records are kept.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] if the partition is not assigned; [`ClientError::Closed`]
    /// once it is closed.
    pub fn set_paused(
        &self,
        partition: &TopicPartition,
        is_paused: bool,
    ) -> Result<(), ClientError> {
        self.check_open()?;
        self.shared.set_paused(self.slot_of(partition)?, is_paused);
        Ok(())
    }

    /// The currently assigned partitions.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.positions().into_iter().map(|(partition, _)| partition).collect()
    }

    /// The next offset to read in each partition; `None` until it is known.
    pub fn positions(&self) -> Vec<(TopicPartition, Option<Offset>)> {
        let assigned = self.slots().into_iter().filter(|slot| slot.is_assigned);
        assigned.map(|slot| (slot.partition, slot.position)).collect()
    }

    /// The current end offset of each partition.
    ///
    /// # Errors
    /// Connection errors.
    pub fn end_offsets(&self) -> Result<Vec<FoundOffset>, ClientError> {
        self.ends().wait()
    }

    /// The current end offset of each partition. For a member of a group this waits for the first
    /// assignment.
    pub(super) fn ends(&self) -> Call<Vec<FoundOffset>> {
        let (shared, membership) = (Arc::clone(&self.shared), self.membership.clone());
        self.core.call(async move {
            if let Some(membership) = membership {
                membership.wait_assigned(&shared).await?;
            }
            let assigned = shared.slots().into_iter().filter(|slot| slot.is_assigned);
            let row = |slot: Slot| OffsetQuery { partition: slot.partition, at: at::LATEST };
            let asked: Vec<OffsetQuery> = assigned.map(row).collect();
            let timeout = shared.brokers.config().timeout;
            let deadline = shared.brokers.deadline("looking up end offsets", timeout);
            list_offsets(&shared.brokers, deadline, &asked).await
        })
    }

    /// The lag of each partition according to the last responses, without asking a broker; `None`
    /// until position and end are known. In topics with byte offsets the lag is in bytes.
    pub fn lag(&self) -> Vec<(TopicPartition, Option<i64>)> {
        let row = |slot: Slot| {
            let known = slot.high_watermark.zip(slot.position);
            (slot.partition, known.map(|(end, position)| end.since(position).max(0)))
        };
        self.slots().into_iter().filter(|slot| slot.is_assigned).map(row).collect()
    }

    /// Commits the positions after all returned messages.
    ///
    /// # Errors
    /// As [`commit_offsets`](Self::commit_offsets).
    pub fn commit(&self) -> Result<(), ClientError> {
        self.commit_offsets(self.shared.received())
    }

    /// Commits offsets for the group, each the next offset to read. Messages below them count as
    /// processed, including the messages returned last.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed, as closing has committed already;
    /// [`ClientError::Config`] if the consumer has no group; [`ClientError::Timeout`] if the group
    /// has no coordinator for too long; [`ClientError::Broker`] with `RebalanceInProgress` during a
    /// rebalance, and with `IllegalGeneration` if a partition is no longer assigned to the
    /// consumer.
    pub fn commit_offsets(
        &self,
        offsets: Vec<(TopicPartition, Offset)>,
    ) -> Result<(), ClientError> {
        self.committing(offsets).wait()
    }

    /// [`commit_offsets`](Self::commit_offsets) as a call.
    pub fn committing(&self, offsets: Vec<(TopicPartition, Offset)>) -> Call<()> {
        let (membership, shared) = (self.membership.clone(), Arc::clone(&self.shared));
        let open = self.check_open();
        self.core.call(async move {
            open?;
            let Some(membership) = membership else {
                let reason = "the consumer has no group to store offsets for: make it with \
                              group=NAME, which is the setting group.id";
                return Err(ConfigError::single("commit", reason).into());
            };
            let limit = shared.brokers.config().timeout;
            let deadline = shared.brokers.deadline("committing offsets", limit);
            // While another broker takes over as coordinator, the member looks for it.
            let committing = || membership.commit(&shared, &offsets);
            shared.brokers.until(deadline, &[], committing).await?;
            shared.finish_below(&offsets);
            Ok(())
        })
    }

    /// The positions after all returned messages.
    pub fn received(&self) -> Vec<(TopicPartition, Offset)> {
        self.shared.received()
    }

    /// Returns a future that is ready after the next change of the buffer of fetched records,
    /// counted from this call.
    pub fn news(&self) -> impl Future<Output = ()> + Send + use<> {
        self.shared.arrivals.changed().next()
    }

    /// [`close`](Self::close) as a future.
    pub async fn closing(&self) {
        WeakConsumer::closing_all(vec![self.downgrade()], &self.core).await;
    }

    /// Ends all waits and all fetching; a member commits its last offsets and leaves the group. A
    /// second call does nothing.
    pub fn close(&self) {
        // If the wait is interrupted, the member leaves by session timeout.
        let _ = Self::close_all(&[self]);
    }

    /// [`close`](Self::close) for several consumers at the same time.
    ///
    /// # Errors
    /// [`ClientError::Interrupted`]; the consumers are closed nevertheless.
    pub fn close_all(consumers: &[&Self]) -> Result<(), ClientError> {
        let consumers: Vec<_> =
            consumers.iter().map(|consumer| (consumer.downgrade(), &*consumer.core)).collect();
        WeakConsumer::close_all(&consumers)
    }

    /// The reference for the client.
    pub(crate) fn downgrade(&self) -> WeakConsumer {
        let (membership, tasks) = (self.membership.clone(), self.tasks.clone());
        WeakConsumer { shared: Arc::downgrade(&self.shared), membership, tasks }
    }

    /// Returns true once it is closed.
    pub fn is_closed(&self) -> bool {
        self.shared.arrivals.is_closed()
    }

    /// Fails once it is closed.
    ///
    /// # Errors
    /// [`ClientError::Closed`].
    pub fn check_open(&self) -> Result<(), ClientError> {
        if self.is_closed() { Err(ClientError::Closed) } else { Ok(()) }
    }

    /// Splits the consumer into streams.
    pub(super) fn part(&self, streams: usize) -> Result<(), ClientError> {
        self.check_open()?;
        let fault = |reason: &str| Err(ConfigError::single("streams", reason).into());
        match streams {
            0 => fault("a consumer has at least one stream"),
            _ if self.shared.part(streams) => Ok(()),
            _ => fault("streams() can be called once, and before anything is read"),
        }
    }

    pub(super) fn slots(&self) -> Vec<Slot> {
        self.shared.slots()
    }

    pub(super) fn resume(&self, slot: usize) {
        self.shared.set_paused(slot, false);
    }

    fn slot_of(&self, partition: &TopicPartition) -> Result<usize, ClientError> {
        let slot = self.shared.assignment.slot_of(partition);
        slot.ok_or_else(|| ClientError::no_topic(partition))
    }
}

impl WeakConsumer {
    /// Returns true while the consumer or one of its tasks exists.
    pub(crate) fn exists(&self) -> bool {
        self.shared.strong_count() > 0
    }

    /// As [`Consumer::closing`], for several consumers of a client within one time limit.
    pub(crate) async fn closing_all(consumers: Vec<Self>, core: &Core) {
        consumers.iter().for_each(Self::begin_leaving);
        let leaving: Vec<_> = consumers.iter().filter_map(|it| it.membership.clone()).collect();
        let left = async move {
            let all = async {
                for membership in leaving {
                    membership.over.cancelled().await;
                }
            };
            Ok(tokio::time::timeout(LEAVE_MAX, all).await.is_ok())
        };
        // If the client's thread ends meanwhile, the members leave by session timeout.
        let _ = core.call(left).await;
        consumers.iter().for_each(Self::end_tasks);
    }

    /// As [`Consumer::close`], for several consumers, each with its client, within one time limit.
    ///
    /// # Errors
    /// [`ClientError::Interrupted`]; the consumers are closed nevertheless.
    pub(crate) fn close_all(consumers: &[(Self, &Core)]) -> Result<(), ClientError> {
        for (consumer, _) in consumers {
            consumer.begin_leaving();
        }
        let mut deadline = None;
        let left = consumers.iter().try_for_each(|(consumer, core)| {
            let Some(membership) = &consumer.membership else { return Ok(()) };
            let now = core.brokers.clock().monotonic();
            let deadline = *deadline.get_or_insert(now.saturating_add(LEAVE_MAX));
            let is_over = || membership.over.is_cancelled().then_some(());
            let timeout = Some(deadline.saturating_sub(now));
            core.waiter.wait(&membership.changed, timeout, is_over).map(drop)
        });
        for (consumer, _) in consumers {
            consumer.end_tasks();
        }
        match left {
            Err(ClientError::Interrupted) => left,
            // Members that nobody could wait for leave by session timeout.
            _ => Ok(()),
        }
    }

    /// Stops reading, and lets a member leave its group.
    fn begin_leaving(&self) {
        self.stop_reading();
        if let Some(membership) = &self.membership {
            membership.leaving.cancel();
        }
    }

    fn stop_reading(&self) {
        if let Some(shared) = self.shared.upgrade() {
            // Also stop readers that are in the middle of a chunk.
            shared.end();
            shared.arrivals.close();
        }
    }

    fn end_tasks(&self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.close();
    }
}
