//! The consumer as its callers see it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::assignment::Slot;
use super::changes::Change;
use super::config::{ConsumerConfig, Start};
use super::fetcher::Fetcher;
use super::membership::{Member, Standing};
use super::message::Message;
use super::shared::{Shared, Wanted};
use super::sink::{Patience, Sink};
use super::until_end::UntilEnd;
use crate::client::error::topic_name;
use crate::client::handle::Core;
use crate::client::offsets::{Asked, list_offsets};
use crate::client::{ClientError, FoundOffset};
use crate::config::ConfigError;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::list_offsets as at;

/// How long closing waits for the last offsets to be stored and the group to be left.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// Reads records: of the partitions it was made for, or of its share in a group.
///
/// May be used from several threads: each message is given out once. `close` from any thread ends
/// the waits of all others.
#[derive(Debug)]
pub struct Consumer {
    core: Arc<Core>,
    shared: Arc<Shared>,
    standing: Option<Arc<Standing>>,
    tasks: Vec<AbortHandle>,
}

impl Consumer {
    /// Reads `topics`: all of their partitions, or the share of `config.group`.
    pub(crate) fn of_topics(
        core: Arc<Core>,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let names: Result<Vec<TopicName>, ClientError> =
            topics.iter().map(|topic| topic_name(topic)).collect();
        let mut names = names?;
        names.sort();
        names.dedup();
        let counts = find(&core, names.clone(), config.auto_create_topics)?;
        if config.group.id.is_some() {
            return Ok(Self::start_member(core, names, config));
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
        Ok(Self::start(core, shared))
    }

    /// Reads some partitions, each from its own start.
    pub(crate) fn of_partitions(
        core: Arc<Core>,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Self, ClientError> {
        let mut names: Vec<TopicName> =
            partitions.iter().map(|(partition, _)| partition.topic.clone()).collect();
        names.sort();
        names.dedup();
        let counts = find(&core, names.clone(), config.auto_create_topics)?;
        for (partition, _) in partitions {
            let place = names.iter().position(|name| *name == partition.topic);
            let count = place.map_or(0, |place| counts[place]);
            if !usize::try_from(partition.partition.0).is_ok_and(|index| index < count) {
                return Err(ClientError::TopicNotFound { topic: partition.to_string() });
            }
        }
        let shared = Shared::new(Arc::clone(&core.brokers), config, false);
        shared.assign(partitions.to_vec());
        Ok(Self::start(core, shared))
    }

    fn start(core: Arc<Core>, shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let task = core.brokers.tasks().start(Fetcher::new(Arc::clone(&shared)).run());
        Self { core, shared, standing: None, tasks: vec![task] }
    }

    fn start_member(core: Arc<Core>, topics: Vec<TopicName>, config: ConsumerConfig) -> Self {
        let standing = Arc::new(Standing::new(config.group.clone()));
        let shared = Shared::new(Arc::clone(&core.brokers), config, false);
        let mut consumer = Self::start(core, shared);
        let member = Member::new(Arc::clone(&consumer.shared), Arc::clone(&standing), topics);
        consumer.tasks.push(consumer.core.brokers.tasks().start(member.run()));
        consumer.standing = Some(standing);
        consumer
    }

    /// The next message, waiting for it up to `timeout` (`None` is for ever). `Ok(None)` when the
    /// time is over.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed; [`ClientError::OffsetOutOfRange`] and
    /// [`ClientError::Damaged`] of a partition, which rests until it is sought elsewhere while the
    /// others go on.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.next_of(Wanted::ANY, timeout, || false)
    }

    /// The next message if there is one already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.shared.try_next(Wanted::ANY)
    }

    /// Up to `count` messages: waits up to `timeout` for the first, and takes with it those that
    /// are there already.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no message before the error.
    pub fn next_batch(
        &self,
        count: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Message>, ClientError> {
        self.gather(count, timeout, Duration::ZERO)
    }

    /// Up to `count` messages: waits up to `timeout` for the first, and then up to `linger` for the
    /// others. All of them are in hand until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no message before the error. What a signal keeps from
    /// being given out is read again.
    pub fn gather(
        &self,
        count: usize,
        timeout: Option<Duration>,
        linger: Duration,
    ) -> Result<Vec<Message>, ClientError> {
        let mut messages = Vec::new();
        if count == 0 {
            return Ok(messages);
        }
        messages.extend(self.next(timeout)?);
        let until = self.shared.now().saturating_add(linger);
        let more = Wanted { goes_on: true, ..Wanted::ANY };
        while !messages.is_empty() && messages.len() < count {
            let left = until.saturating_sub(self.shared.now());
            match self.next_of(more, Some(left), || false) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) | Err(ClientError::Closed) => break,
                Err(ClientError::Interrupted) => {
                    self.shared.take_back(more);
                    return Err(ClientError::Interrupted);
                }
                Err(error) => {
                    // The next call meets it.
                    self.shared.arrivals.fail(error);
                    break;
                }
            }
        }
        Ok(messages)
    }

    /// Gives records to a sink until it is full, or the patience is over. All of them are in hand
    /// until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no record before the error. When a signal ends the
    /// wait, the sink is to be thrown away: what it was given is read again.
    pub fn read_into(&self, sink: &mut impl Sink, patience: Patience) -> Result<(), ClientError> {
        self.check_whole()?;
        self.read_into_of(Wanted::ANY, sink, patience, || false)
    }

    /// All messages, for ever: ends only when the consumer is closed.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message, ClientError>> {
        std::iter::from_fn(move || match self.next(None) {
            Ok(message) => message.map(Ok),
            Err(ClientError::Closed) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Everything up to the end of each partition as it is now. In a group: of the partitions that
    /// are the consumer's share now.
    ///
    /// # Errors
    /// Those of asking for the ends.
    pub fn until_end(&self) -> Result<UntilEnd<&Self>, ClientError> {
        UntilEnd::of(self)
    }

    /// Goes on at `start` in every partition.
    pub fn seek_all(&self, start: Start) {
        for (slot, state) in self.slots().into_iter().enumerate() {
            if state.is_assigned {
                self.shared.seek(slot, start);
            }
        }
    }

    /// Goes on at `start` in one partition.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when the consumer does not read it.
    pub fn seek(&self, partition: &TopicPartition, start: Start) -> Result<(), ClientError> {
        self.shared.seek(self.slot_of(partition)?, start);
        Ok(())
    }

    /// Ends all reading once what was given out is done with: whoever asks for the next message
    /// meets [`ClientError::Closed`], and what was in hand then counts as processed.
    pub fn end(&self) {
        self.shared.end();
    }

    /// The partitions that came and went since the last time, when the consumer was made to report
    /// them: reading is interrupted with `Ok(None)` while there are any.
    pub fn take_changes(&self) -> Option<Change> {
        self.shared.take_changes()
    }

    /// Whether there is something for [`take_changes`](Self::take_changes).
    pub fn has_changes(&self) -> bool {
        self.shared.has_changes()
    }

    /// Lets a partition rest, or go on. What was fetched of it stays.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`] when the consumer does not read it.
    pub fn set_paused(
        &self,
        partition: &TopicPartition,
        is_paused: bool,
    ) -> Result<(), ClientError> {
        self.shared.set_paused(self.slot_of(partition)?, is_paused);
        Ok(())
    }

    /// The partitions it reads now.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.positions().into_iter().map(|(partition, _)| partition).collect()
    }

    /// The offset that is read next in each partition; `None` until it is known.
    pub fn positions(&self) -> Vec<(TopicPartition, Option<Offset>)> {
        let assigned = self.slots().into_iter().filter(|slot| slot.is_assigned);
        assigned.map(|slot| (slot.partition, slot.position)).collect()
    }

    /// The end of what can be read of each partition now.
    ///
    /// # Errors
    /// Those of reaching the leaders.
    pub fn end_offsets(&self) -> Result<Vec<FoundOffset>, ClientError> {
        let row = |partition| Asked { partition, at: at::LATEST };
        let asked: Vec<Asked> = self.assignment().into_iter().map(row).collect();
        let brokers = Arc::clone(&self.shared.brokers);
        self.core.run(async move {
            let timeout = brokers.config().timeout;
            let deadline = brokers.deadline("looking up end offsets", timeout);
            list_offsets(&brokers, deadline, &asked).await
        })
    }

    /// How far the end lies beyond the position in each partition, by the last answers: no broker
    /// is asked. `None` until both are known. Topics that count bytes lag by bytes.
    pub fn lag(&self) -> Vec<(TopicPartition, Option<i64>)> {
        let row = |slot: Slot| {
            let known = slot.high_watermark.zip(slot.position);
            (slot.partition, known.map(|(end, position)| end.since(position).max(0)))
        };
        self.slots().into_iter().filter(|slot| slot.is_assigned).map(row).collect()
    }

    /// Stores for the group how far all messages reach that were given out.
    ///
    /// # Errors
    /// As [`commit_offsets`](Self::commit_offsets).
    pub fn commit(&self) -> Result<(), ClientError> {
        self.commit_offsets(self.shared.received())
    }

    /// Stores for the group the offsets to be read next.
    ///
    /// # Errors
    /// [`ClientError::Broker`] with `RebalanceInProgress` while the group is shared out anew, with
    /// `IllegalGeneration` when the partitions are no longer the consumer's, and with
    /// `InvalidGroupId` when it reads without a group.
    pub fn commit_offsets(
        &self,
        offsets: Vec<(TopicPartition, Offset)>,
    ) -> Result<(), ClientError> {
        let Some(standing) = self.standing.clone() else {
            let code = crate::wire::ErrorCode::InvalidGroupId;
            return Err(ClientError::from_code(code, "the consumer reads without a group", None));
        };
        let brokers = Arc::clone(&self.shared.brokers);
        self.core.run(async move { standing.commit(&brokers, &offsets).await })
    }

    /// Ends all waits and all fetching; in a group, stores the last offsets and leaves. Doing it
    /// again does nothing.
    pub fn close(&self) {
        // What was taken of a chunk's records is left as well.
        self.shared.end();
        self.shared.arrivals.close();
        if let Some(standing) = &self.standing {
            standing.leaving.cancel();
            let is_over = || standing.over.is_cancelled().then_some(());
            // Who gives up waiting leaves by silence.
            let _ = self.core.waiter.wait(&standing.changed, Some(LEAVE_MAX), is_over);
        }
        for task in &self.tasks {
            task.abort();
        }
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.arrivals.is_closed()
    }

    /// Waits until it knows what it reads, which takes a member of a group a moment.
    pub(super) fn await_share(&self) -> Result<(), ClientError> {
        let Some(standing) = &self.standing else { return Ok(()) };
        let timeout = self.core.brokers.config().timeout.max(standing.group().rebalance_timeout);
        let attempt = || (standing.place().is_some() || self.is_closed()).then_some(());
        let gate = self.shared.arrivals.changed();
        let waited = self.core.waiter.wait(gate, Some(timeout), attempt)?;
        waited.ok_or(ClientError::Timeout {
            operation: "joining the group",
            elapsed: timeout,
            last_error: None,
        })
    }

    /// The next message that is wanted, unless `is_done`.
    pub(super) fn next_of(
        &self,
        wanted: Wanted<'_>,
        timeout: Option<Duration>,
        is_done: impl Fn() -> bool,
    ) -> Result<Option<Message>, ClientError> {
        let attempt = || {
            if self.shared.has_changes() {
                return Some(Ok(None));
            }
            match self.shared.try_next(wanted) {
                Ok(None) => is_done().then_some(Ok(None)),
                next => Some(next),
            }
        };
        let found = self.core.waiter.wait(self.shared.arrivals.changed(), timeout, attempt)?;
        found.unwrap_or(Ok(None))
    }

    /// Gives what is wanted to a sink, unless `is_done`.
    pub(super) fn read_into_of(
        &self,
        wanted: Wanted<'_>,
        sink: &mut impl Sink,
        patience: Patience,
        is_done: impl Fn() -> bool,
    ) -> Result<(), ClientError> {
        let gate = self.shared.arrivals.changed();
        let before = sink.count();
        let first = || {
            if self.shared.has_changes() {
                return Some(Ok(()));
            }
            match self.shared.try_read_into(wanted, sink) {
                Ok(()) => (sink.count() > before || is_done()).then_some(Ok(())),
                failed => Some(failed),
            }
        };
        self.core.waiter.wait(gate, patience.first, first)?.unwrap_or(Ok(()))?;
        if sink.count() == before || sink.is_full() {
            return Ok(());
        }
        let more = Wanted { goes_on: true, ..wanted };
        let rest = || match self.shared.try_read_into(more, sink) {
            Ok(()) => {
                let is_over = sink.is_full() || is_done() || self.shared.has_changes();
                is_over.then_some(Ok(()))
            }
            failed => Some(failed),
        };
        match self.core.waiter.wait(gate, Some(patience.more), rest) {
            Ok(Some(Err(ClientError::Closed) | Ok(())) | None) => Ok(()),
            Ok(Some(Err(error))) => {
                // The next call meets it.
                self.shared.arrivals.fail(error);
                Ok(())
            }
            Err(error) => {
                self.shared.take_back(wanted);
                Err(error)
            }
        }
    }

    /// The next message that is wanted, if there is one already.
    pub(super) fn try_next_of(&self, wanted: Wanted<'_>) -> Result<Option<Message>, ClientError> {
        self.shared.try_next(wanted)
    }

    /// Parts the reading into so many streams.
    pub(super) fn part(&self, streams: usize) -> Result<(), ClientError> {
        let fault = |reason: &str| Err(ConfigError::single("streams", reason).into());
        match streams {
            0 => fault("a consumer has at least one stream"),
            _ if self.shared.part(streams) => Ok(()),
            _ => fault("they have to be asked for once, and before anything is read"),
        }
    }

    /// Fails when the messages are given out by streams.
    fn check_whole(&self) -> Result<(), ClientError> {
        if self.shared.assignment.streams() == 1 {
            return Ok(());
        }
        let reason = "the messages of this consumer are given out by its streams";
        Err(ConfigError::single("streams", reason).into())
    }

    pub(super) fn slots(&self) -> Vec<Slot> {
        self.shared.slots()
    }

    pub(super) fn resume(&self, slot: usize) {
        self.shared.set_paused(slot, false);
    }

    fn slot_of(&self, partition: &TopicPartition) -> Result<usize, ClientError> {
        let slot = self.shared.assignment.slot_of(partition);
        slot.ok_or_else(|| ClientError::TopicNotFound { topic: partition.to_string() })
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.close();
    }
}

/// How many partitions each topic has.
fn find(core: &Core, names: Vec<TopicName>, may_create: bool) -> Result<Vec<usize>, ClientError> {
    let brokers = Arc::clone(&core.brokers);
    let deadline = brokers.deadline("finding topics", brokers.config().timeout);
    core.run(async move {
        let mut counts = Vec::with_capacity(names.len());
        for name in &names {
            let looking = || brokers.topic(name, may_create);
            counts.push(brokers.until(deadline, &[], looking).await?.partitions.len());
        }
        Ok(counts)
    })
}
