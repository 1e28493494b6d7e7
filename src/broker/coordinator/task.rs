//! The task of one coordinator, for one leader epoch of a partition of the internal topic.
//!
//! The task is the only owner of its groups. Each step passes one event (a request, a completed
//! write, a new high watermark, a deadline) to the coordinator and executes its decision. Requests
//! that arrive while the log is being loaded wait for a moment, since most logs are short; after
//! that they get the error that the coordinator is loading.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::broker::coordinator::journal::{Journal, Written};
use crate::broker::coordinator::log_reader::{Damage, Entry, LogReader, ReadError};
use crate::broker::coordinator::offsets_topic::is_topic_deleted;
use crate::engine::EngineState;
use crate::group::{Answer, Coordinator, Decision, GroupConfig, GroupRecord, Now, Request, Ticket};
use crate::replication::Partition;
use crate::types::{LeaderEpoch, Offset};

/// The time that requests wait for the log to be loaded before they are refused.
const LOADING_WAIT_MAX: Duration = Duration::from_secs(1);

/// The pauses between attempts to load a log after a disk error.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The minimum interval between checks for offsets of deleted topics.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// A message in a coordinator's queue.
#[derive(Debug)]
pub(super) enum Message {
    /// A request, and the channel for its response.
    Ask {
        /// The request.
        request: Box<Request>,
        /// Dropped without a response when the coordinator ends.
        answer: oneshot::Sender<Answer>,
    },
    /// Topics were deleted.
    TopicsDeleted,
    /// All known damage of the log was skipped.
    DamageSkipped,
}

/// A running coordinator.
pub(super) struct Task {
    engine: Arc<EngineState>,
    config: GroupConfig,
    partition: Arc<Partition>,
    coordinator: Coordinator,
    journal: Journal,
    messages: Receiver<Message>,
    answers: HashMap<Ticket, oneshot::Sender<Answer>>,
    next_ticket: u64,
    /// The time on the monotonic clock until which requests wait for the log to be loaded.
    loading_wait_until: Duration,
    /// The time on the monotonic clock of the next check for offsets of deleted topics. `None`
    /// while the log is being loaded.
    next_check: Option<Duration>,
}

/// The reason why a coordinator ended.
enum End {
    /// The partition or the broker stopped.
    Stopped,
    /// The log could not be read.
    Unreadable(ReadError),
}

impl Task {
    /// Creates a task for a leader epoch of the partition; it has not started.
    pub(super) fn new(
        engine: &Arc<EngineState>,
        config: &GroupConfig,
        partition: &Arc<Partition>,
        epoch: LeaderEpoch,
        messages: Receiver<Message>,
    ) -> Self {
        Self {
            coordinator: Coordinator::new(config.clone()),
            journal: Journal::new(partition, epoch, &engine.control),
            engine: Arc::clone(engine),
            config: config.clone(),
            partition: Arc::clone(partition),
            messages,
            answers: HashMap::new(),
            next_ticket: 0,
            loading_wait_until: engine.clock.monotonic().saturating_add(LOADING_WAIT_MAX),
            next_check: None,
        }
    }

    /// Runs until the coordinator ends.
    pub(super) async fn run(mut self) {
        if self.load_with_retries().await.is_some() {
            self.until(pending::<()>()).await;
        }
        tracing::debug!("the coordinator of {} ends", self.partition.id());
        let decision = self.coordinator.unload(self.now());
        self.send(decision.answers);
    }

    /// Loads the log, retrying as often as necessary; requests are refused meanwhile. `None` if the
    /// coordinator ends first.
    async fn load_with_retries(&mut self) -> Option<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.load().await {
                Ok(()) => return Some(()),
                Err(End::Stopped) => return None,
                Err(End::Unreadable(error)) => error,
            };
            let partition = self.partition.id();
            tracing::error!("the groups of {partition} are read again in {pause:?}: {error}");
            // Discard the partially loaded state; no response has been based on it.
            self.coordinator = Coordinator::new(self.config.clone());
            self.until(sleep(pause)).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Loads the log, and answers requests meanwhile.
    async fn load(&mut self) -> Result<(), End> {
        let control = self.engine.control.clone();
        let opening = LogReader::open(Arc::clone(&self.partition), control.clone());
        let mut reader = self.until(opening).await.ok_or(End::Stopped)??;
        let (mut records, mut damaged) = (0_u64, 0_u64);
        while let Some(chunk) = self.until(reader.next(&control)).await.ok_or(End::Stopped)?? {
            for entry in chunk.entries {
                match entry {
                    Entry::Record(record) => {
                        records += 1;
                        damaged += u64::from(!self.replay(&record));
                    }
                    Entry::Damaged(offset, error) => {
                        damaged += 1;
                        self.leave_out(offset, &error);
                    }
                }
            }
        }
        if records + damaged > 0 {
            let partition = self.partition.id();
            tracing::info!("groups of {partition} loaded: {records} records, {damaged} damaged");
        }
        let decision = self.coordinator.finish_loading(self.now());
        self.perform(decision);
        self.forget_topics();
        Ok(())
    }

    /// Replays a record; returns false if it is damaged.
    fn replay(&mut self, record: &GroupRecord) -> bool {
        let replayed = self.coordinator.replay(&record.key, record.value.as_deref());
        let partition = self.partition.id();
        replayed
            .inspect_err(|error| tracing::error!("a record of {partition} is left out: {error}"))
            .is_ok()
    }

    fn leave_out(&mut self, offset: Offset, damage: &Damage) {
        let partition = self.partition.id();
        if damage.may_hide_records() {
            self.coordinator.note_damage();
            tracing::error!(
                "{partition} at {offset}: {damage}; offsets that groups have not committed since \
                 are refused until a person restores the file, or gives them up by `streamlog \
                 partition skip-damage`"
            );
        } else {
            tracing::error!("{partition} at {offset}: {damage}");
        }
    }

    /// Runs until `done` completes; `None` if the coordinator ends first.
    async fn until<T>(&mut self, done: impl Future<Output = T>) -> Option<T> {
        let mut done = pin!(done);
        loop {
            let flow = tokio::select! {
                biased;
                result = &mut done => return Some(result),
                flow = self.step() => flow,
            };
            if flow.is_break() {
                return None;
            }
        }
    }

    /// Handles one event. Cancel-safe.
    async fn step(&mut self) -> ControlFlow<()> {
        let loading_wait = self.loading_wait_left();
        let left = loading_wait.or_else(|| self.time_left());
        // Messages come last: a flood of them must hold up neither writes nor deadlines.
        tokio::select! {
            biased;
            () = self.engine.stopping.cancelled() => return ControlFlow::Break(()),
            written = self.journal.progress() => self.conclude(written.unwrap_or_default()),
            () = sleep_for(left) => {
                let decision = self.coordinator.on_deadline(self.now());
                self.perform(decision);
                if self.next_check.is_some_and(|check| check <= self.engine.clock.monotonic()) {
                    self.forget_topics();
                }
            }
            message = self.messages.recv(), if loading_wait.is_none() => match message {
                Some(message) => self.take(message),
                // Another leader epoch has replaced this coordinator.
                None => return ControlFlow::Break(()),
            },
        }
        match self.journal.take_replicated() {
            Ok(None) => {}
            Ok(Some(last)) => {
                let decision = self.coordinator.replicated(last, self.now());
                self.perform(decision);
            }
            Err(_stopped) => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// The remaining time for which requests wait for the log to be loaded; `None` if they no
    /// longer wait.
    fn loading_wait_left(&self) -> Option<Duration> {
        let left = self.loading_wait_until.checked_sub(self.engine.clock.monotonic());
        left.filter(|left| self.next_check.is_none() && !left.is_zero())
    }

    fn time_left(&self) -> Option<Duration> {
        let now = self.engine.clock.monotonic();
        let next = [self.coordinator.next_deadline(), self.next_check].into_iter().flatten().min();
        next.map(|deadline| deadline.saturating_sub(now))
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ask { request, answer } => {
                let ticket = Ticket(self.next_ticket);
                self.next_ticket += 1;
                self.answers.insert(ticket, answer);
                let decision = self.coordinator.handle(ticket, *request, self.now());
                self.perform(decision);
            }
            // While the log is being loaded, the check at the end of loading is early enough.
            Message::TopicsDeleted if self.next_check.is_none() => {}
            Message::TopicsDeleted => self.forget_topics(),
            // Damage that loading has found so far is accepted too: it is the same damage of the
            // log.
            Message::DamageSkipped => self.coordinator.accept_loss(),
        }
    }

    /// Deletes offsets of deleted topics, and schedules the next check. The check is repeated
    /// because a deletion is reported once, and the disk may be full or the broker crash at that
    /// time.
    fn forget_topics(&mut self) {
        let now = self.now();
        let interval = self.config.offsets_check_interval.max(SHORTEST_INTERVAL);
        self.next_check = Some(now.monotonic.saturating_add(interval));
        let image = self.engine.image();
        let decision =
            self.coordinator.forget_topics(|name, id| is_topic_deleted(&image, name, id), now);
        self.perform(decision);
    }

    fn conclude(&mut self, mut written: Written) {
        for (id, reason) in std::mem::take(&mut written.refused) {
            let decision = self.coordinator.refused(id, reason, self.now());
            self.perform(decision);
        }
        self.journal.conclude(written, self.now().wall);
    }

    fn perform(&mut self, decision: Decision) {
        self.send(decision.answers);
        self.journal.append(decision.appends, self.now().wall);
    }

    fn send(&mut self, answers: Vec<(Ticket, Answer)>) {
        for (ticket, answer) in answers {
            let asker = self.answers.remove(&ticket);
            assert!(asker.is_some(), "{ticket:?} was answered and not asked, or twice");
            // The requester may have disconnected.
            let _ = asker.map(|asker| asker.send(answer));
        }
    }

    fn now(&self) -> Now {
        let clock = &self.engine.clock;
        let may_expire = self.engine.logs.upkeep.ages().now().is_some();
        Now { wall: clock.now(), monotonic: clock.monotonic(), may_expire }
    }
}

impl From<ReadError> for End {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Stopping(_) => Self::Stopped,
            ReadError::Partition(error) if error.ends_epoch() => Self::Stopped,
            error => Self::Unreadable(error),
        }
    }
}

async fn sleep_for(left: Option<Duration>) {
    match left {
        Some(left) => sleep(left).await,
        None => pending().await,
    }
}
