//! The task of one coordinator: one reign over one partition of the internal topic.
//!
//! It is the only owner of the groups there. Each step takes one event (a request, a write that
//! ended, a watermark that moved, a deadline), gives it to the coordinator and does what was
//! decided. Requests that come while the log is read wait a moment, as most logs are short; then
//! they are answered as the coordinator says: not yet.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::broker::coordinator::gone::is_gone;
use crate::broker::coordinator::journal::{Journal, Written};
use crate::broker::coordinator::log_reader::{Damage, Entry, LogReader, ReadError};
use crate::engine::EngineState;
use crate::group::{Answer, Coordinator, Decision, GroupConfig, GroupRecord, Now, Request, Ticket};
use crate::replication::{Partition, PartitionError};
use crate::types::Offset;

/// How long requests wait for the log to be read before they are refused for it.
const LOADING_PATIENCE: Duration = Duration::from_secs(1);

/// Pauses between attempts to read a log that the disk refuses to give.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Between looks for offsets of topics that are gone, however short an interval is asked for.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// What a coordinator's queue holds.
#[derive(Debug)]
pub(super) enum Message {
    /// A request, and where its answer goes.
    Ask {
        /// The request.
        request: Box<Request>,
        /// Dropped without an answer when the reign ends.
        answer: oneshot::Sender<Answer>,
    },
    /// Topics are gone.
    TopicsDeleted,
    /// All known damage of the log was skipped.
    DamageSkipped,
}

/// A coordinator at work.
pub(super) struct Task {
    engine: Arc<EngineState>,
    config: GroupConfig,
    partition: Arc<Partition>,
    coordinator: Coordinator,
    journal: Journal,
    messages: Receiver<Message>,
    answers: HashMap<Ticket, oneshot::Sender<Answer>>,
    next_ticket: u64,
    /// On the monotonic clock: until then requests wait for the log to be read.
    patient_until: Duration,
    /// On the monotonic clock: when offsets of topics that are gone are looked for next. `None`
    /// while the log is read.
    next_look: Option<Duration>,
}

/// Why a reign ended.
enum End {
    /// The partition or the broker stopped.
    Stopped,
    /// The log could not be read.
    Unreadable(ReadError),
}

impl Task {
    /// A task that has not begun.
    pub(super) fn new(
        engine: &Arc<EngineState>,
        config: &GroupConfig,
        partition: &Arc<Partition>,
        messages: Receiver<Message>,
    ) -> Self {
        Self {
            coordinator: Coordinator::new(config.clone()),
            journal: Journal::new(partition, &engine.control),
            engine: Arc::clone(engine),
            config: config.clone(),
            partition: Arc::clone(partition),
            messages,
            answers: HashMap::new(),
            next_ticket: 0,
            patient_until: engine.clock.monotonic().saturating_add(LOADING_PATIENCE),
            next_look: None,
        }
    }

    /// Works until the reign ends.
    pub(super) async fn run(mut self) {
        if self.load_at_last().await.is_some() {
            self.until(pending::<()>()).await;
        }
        tracing::debug!("the coordinator of {} ends", self.partition.id());
        let decision = self.coordinator.unload(self.now());
        self.send(decision.answers);
    }

    /// Reads the log, as often as it takes: whoever asks meanwhile is told that it is being read.
    /// `None` when the reign ends first.
    async fn load_at_last(&mut self) -> Option<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.load().await {
                Ok(()) => return Some(()),
                Err(End::Stopped) => return None,
                Err(End::Unreadable(error)) => error,
            };
            let partition = self.partition.id();
            tracing::error!("the groups of {partition} are read again in {pause:?}: {error}");
            // What was read of them is forgotten; nobody has been told any of it.
            self.coordinator = Coordinator::new(self.config.clone());
            self.until(sleep(pause)).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reads the log, answering meanwhile.
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

    /// Whether a record could be taken over.
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

    /// Works until `done` is; `None` when the reign ends first.
    async fn until<T>(&mut self, done: impl Future<Output = T>) -> Option<T> {
        let mut done = pin!(done);
        loop {
            let flow = tokio::select! {
                result = &mut done => return Some(result),
                flow = self.step() => flow,
            };
            if flow.is_break() {
                return None;
            }
        }
    }

    /// Takes one event. Dropping the future loses nothing.
    async fn step(&mut self) -> ControlFlow<()> {
        let patience = self.patience_left();
        let left = patience.or_else(|| self.time_left());
        tokio::select! {
            () = self.engine.stopping.cancelled() => return ControlFlow::Break(()),
            message = self.messages.recv(), if patience.is_none() => match message {
                Some(message) => self.take(message),
                // The seat was given to the next reign.
                None => return ControlFlow::Break(()),
            },
            written = self.journal.progress() => self.conclude(written.unwrap_or_default()),
            () = sleep_for(left) => {
                let decision = self.coordinator.on_deadline(self.now());
                self.perform(decision);
                if self.next_look.is_some_and(|look| look <= self.engine.clock.monotonic()) {
                    self.forget_topics();
                }
            }
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

    /// How much longer requests wait for the log to be read, if they still do.
    fn patience_left(&self) -> Option<Duration> {
        let left = self.patient_until.checked_sub(self.engine.clock.monotonic());
        left.filter(|left| self.next_look.is_none() && !left.is_zero())
    }

    fn time_left(&self) -> Option<Duration> {
        let now = self.engine.clock.monotonic();
        let next = [self.coordinator.next_deadline(), self.next_look].into_iter().flatten().min();
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
            // While the log is read, its end is soon enough.
            Message::TopicsDeleted if self.next_look.is_none() => {}
            Message::TopicsDeleted => self.forget_topics(),
            // Damage that was read meanwhile is accepted too: it is the same.
            Message::DamageSkipped => self.coordinator.accept_loss(),
        }
    }

    /// Looks for offsets of topics that are gone, and says when to look again: that a topic is
    /// deleted is told once, and the disk may be full then, or the broker die of it.
    fn forget_topics(&mut self) {
        let now = self.now();
        let interval = self.config.offsets_check_interval.max(SHORTEST_INTERVAL);
        self.next_look = Some(now.monotonic.saturating_add(interval));
        let image = self.engine.image();
        let decision = self.coordinator.forget_topics(|name, id| is_gone(&image, name, id), now);
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
            // Whoever asked may have gone.
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
            ReadError::Stopping(_) | ReadError::Partition(PartitionError::Stopped { .. }) => {
                Self::Stopped
            }
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
