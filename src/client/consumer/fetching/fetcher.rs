//! The task that fetches ahead: one request at a time per broker, while the buffer has space.
//!
//! Responses are queued undecoded; only batch headers are read here, to find the next fetch
//! position. Connecting, offset lookups and metadata requests are separate jobs whose results
//! arrive as events.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::offset_rules::OffsetRules;
use super::order::in_order;
use super::position_checks::{PositionCheck, PositionChecks};
use super::refusals::Refusals;
use super::request::{FetchPlan, Fetched, PartitionData};
use crate::client::cluster::{Refresh, Refreshes};
use crate::client::consumer::assignment::{Slot, Target};
use crate::client::consumer::config::{OutOfRange, Start};
use crate::client::consumer::fetch_buffer::{Chunk, Source};
use crate::client::consumer::losses::Checked;
use crate::client::consumer::shared::Shared;
use crate::client::error::Remedy;
use crate::client::offsets::{FoundOffset, OffsetQuery, list_offsets, log_range};
use crate::client::{ClientError, OrderFault};
use crate::config::HostPort;
use crate::link::{Backoff, Connection, Readiness, Route};
use crate::types::{Offset, TopicPartition};
use crate::wire::{ErrorCode, list_offsets as at};

/// The time limit of one offset lookup, after which it starts again.
const LOOK_UP_MAX: Duration = Duration::from_secs(30);

/// The state of the fetch task.
#[derive(Debug)]
pub(crate) struct Fetcher {
    shared: Arc<Shared>,
    routes: HashMap<HostPort, Route>,
    jobs: JoinSet<Event>,
    /// Fetch requests in flight by broker; a seek may make one obsolete.
    in_flight: HashMap<HostPort, Vec<Source>>,
    resolving: BTreeSet<usize>,
    /// Slots that are not fetched for now, each with the end of its pause.
    paused: HashMap<usize, Duration>,
    refusals: Refusals,
    /// Offset rules of partitions in which a gap was found.
    rules: HashMap<TopicPartition, OffsetRules>,
    checks: PositionChecks,
    refreshes: Refreshes,
    backoff: Backoff,
    /// The time of the last failure, and the end of the pause of all partitions that failed at that
    /// time.
    shared_pause: (Duration, Duration),
    rounds: usize,
}

/// The result of a job.
#[derive(Debug)]
enum Event {
    Connected(HostPort, Result<Connection, ClientError>),
    Fetched(HostPort, Vec<Fetched>),
    Resolved(Vec<Source>, Result<Vec<FoundOffset>, ClientError>),
    OutOfRange(Source, Result<(Offset, Offset), ClientError>),
    OutOfOrder(Source, OrderFault, Result<OffsetRules, ClientError>),
    Checked(PositionCheck, Result<Checked, ClientError>),
    Refreshed(Result<(), ClientError>),
}

impl Fetcher {
    /// The fetch task of the consumer that owns `shared`.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let backoff = shared.brokers.backoff();
        let refreshes = Refreshes::new(shared.now(), shared.metadata_max_age());
        Self {
            shared,
            routes: HashMap::new(),
            jobs: JoinSet::new(),
            in_flight: HashMap::new(),
            resolving: BTreeSet::new(),
            paused: HashMap::new(),
            refusals: Refusals::default(),
            rules: HashMap::new(),
            checks: PositionChecks::default(),
            refreshes,
            backoff,
            shared_pause: (Duration::ZERO, Duration::ZERO),
            rounds: 0,
        }
    }

    /// Fetches until the task is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let now = self.shared.now();
            let next = self.start_due(now);
            tokio::select! {
                Some(event) = self.jobs.join_next() => {
                    self.take_in(event);
                    while let Some(event) = self.jobs.try_join_next() {
                        self.take_in(event);
                    }
                }
                () = self.shared.work.notified() => {}
                () = tokio::time::sleep(next.saturating_sub(now)) => {}
            }
        }
    }

    /// Starts all possible work, and returns the time of the next check.
    fn start_due(&mut self, now: Duration) -> Duration {
        self.rounds = self.rounds.wrapping_add(1);
        let slots = self.shared.assignment.snapshot();
        self.abandon_stale(&slots);
        self.paused.retain(|_, until| *until > now);
        let next = self.paused.values().copied().chain(self.refusals.expire(now)).min();
        let mut next = next.unwrap_or(Duration::MAX);
        self.resolve(&slots);
        let has_space = self.shared.streams_with_space(&slots);
        for (address, mut plan) in self.plans(&slots, &has_space) {
            plan.rotate(self.rounds);
            next = next.min(self.fetch(&address, plan, now).unwrap_or(Duration::MAX));
        }
        next.min(self.refresh(now).unwrap_or(Duration::MAX))
    }

    /// Drops the connection of a request that waits at a broker for a position no longer wanted: it
    /// would delay the next request.
    fn abandon_stale(&mut self, slots: &[Slot]) {
        for (address, sources) in &self.in_flight {
            let is_stale = sources.iter().any(|s| slots[s.slot].generation != s.generation);
            if is_stale && let Some(route) = self.routes.get_mut(address) {
                route.abandon();
            }
        }
    }

    /// The fetch request for each broker, for the streams with buffer space.
    fn plans(&mut self, slots: &[Slot], has_space: &[bool]) -> HashMap<HostPort, FetchPlan> {
        let topology = self.shared.brokers.topology();
        let mut plans: HashMap<HostPort, FetchPlan> = HashMap::new();
        for (number, slot) in slots.iter().enumerate() {
            let (Target::At(position) | Target::Refused(position)) = slot.target else { continue };
            let has_space = has_space.get(slot.stream).is_some_and(|has_space| *has_space);
            let is_over = slot.until.is_some_and(|until| position >= until);
            let is_paused =
                self.paused.contains_key(&number) || self.refusals.is_paused(number, slot);
            if is_over || slot.is_paused || !has_space || is_paused {
                continue;
            }
            let TopicPartition { topic, partition } = &slot.partition;
            match topology.leader(topic, *partition) {
                Some(address) => {
                    let source = slot.source(number, position);
                    let epoch = topology.leader_epoch(topic, *partition);
                    if let Some(check) = self.checks.due(slot, &source, epoch) {
                        self.check_position(check);
                        continue;
                    }
                    let plan = plans.entry(address.clone()).or_default();
                    plan.add(source, slot.may_wait(position), &topology);
                }
                None => {
                    self.refreshes.mark(topic);
                }
            }
        }
        plans
    }

    /// Asks a new leader whether it has the records before a position; the slot is not fetched
    /// meanwhile.
    fn check_position(&mut self, check: PositionCheck) {
        self.paused.insert(check.source.slot, self.shared.now().saturating_add(LOOK_UP_MAX));
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            let deadline = brokers.deadline("checking a position", LOOK_UP_MAX);
            let checked = check.ask(&brokers, deadline).await;
            Event::Checked(check, checked)
        });
    }

    /// Handles the leader's answer to a position check.
    fn checked(
        &mut self,
        check: &PositionCheck,
        checked: Result<Checked, ClientError>,
        now: Duration,
    ) {
        self.paused.remove(&check.source.slot);
        match checked {
            Ok(Checked { unchanged: None, loss: None }) => self.checks.passed(check),
            Ok(found) => self.shared.checked(&check.source, found),
            Err(error) => self.handle_error(&check.source, error, now),
        }
    }

    /// Sends `plan` if the broker can take a request now; otherwise returns the time to check
    /// again.
    fn fetch(&mut self, address: &HostPort, plan: FetchPlan, now: Duration) -> Option<Duration> {
        let (address, shared) = (address.clone(), Arc::clone(&self.shared));
        let routes = self.routes.entry(address.clone());
        let route = routes.or_insert_with(|| Route::new(shared.brokers.backoff()));
        match route.readiness(now, 1) {
            Readiness::Busy => {}
            Readiness::NotBefore(time) => return Some(time),
            Readiness::Connect => {
                self.jobs.spawn(async move {
                    let connection = shared.brokers.open(&address).await;
                    Event::Connected(address, connection)
                });
            }
            Readiness::Ready(connection) => match plan.send(connection, &shared.config) {
                Ok(reply) => {
                    route.sent();
                    self.in_flight.insert(address.clone(), plan.sources());
                    self.jobs.spawn(async move {
                        let (brokers, wait) = (&shared.brokers, shared.config.fetch_wait);
                        let fetched = plan.arrive(reply, (brokers, &address), wait).await;
                        Event::Fetched(address, fetched)
                    });
                }
                Err(error) => {
                    for fetched in plan.settle(Err(error)) {
                        self.handle_result(fetched, now);
                    }
                }
            },
        }
        None
    }

    /// Looks up the start offsets of slots that have none yet.
    fn resolve(&mut self, slots: &[Slot]) {
        let mut sources = Vec::new();
        let mut asked = Vec::new();
        for (number, slot) in slots.iter().enumerate() {
            let Target::Unresolved(start) = slot.target else { continue };
            let at = match start {
                Start::Latest => at::LATEST,
                Start::Time(time) => time.millis().max(0),
                Start::Earliest | Start::Offset(_) => at::EARLIEST,
            };
            if !self.paused.contains_key(&number) && self.resolving.insert(number) {
                sources.push(slot.source(number, Offset::ZERO));
                asked.push(OffsetQuery { partition: slot.partition.clone(), at });
            }
        }
        if asked.is_empty() {
            return;
        }
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            let deadline = brokers.deadline("looking up offsets", LOOK_UP_MAX);
            let found = list_offsets(&brokers, deadline, &asked).await;
            Event::Resolved(sources, found)
        });
    }

    /// Requests metadata of stale topics, or of all topics when it is too old.
    fn refresh(&mut self, now: Duration) -> Option<Duration> {
        let all = || self.shared.assignment.counts().into_keys();
        let topics = match self.refreshes.next(now, all) {
            Refresh::Request(topics) => topics,
            Refresh::NotBefore(time) => return Some(time),
            Refresh::Pending => return None,
        };
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            Event::Refreshed(brokers.refresh(Some(&topics), false).await.map(drop))
        });
        None
    }

    fn take_in(&mut self, event: Result<Event, tokio::task::JoinError>) {
        let event = match event {
            Ok(event) => event,
            // Jobs are never aborted while this task lives, and do not panic.
            Err(error) => unreachable!("a job of the consumer ended: {error}"),
        };
        let now = self.shared.now();
        match event {
            Event::Connected(address, connected) => {
                let Some(route) = self.routes.get_mut(&address) else { return };
                match connected {
                    Ok(connection) => route.connected(connection),
                    Err(error) => {
                        tracing::debug!(%error, "the consumer cannot reach a broker");
                        route.failed(now);
                        self.refreshes.mark_all(self.shared.assignment.counts().into_keys());
                    }
                }
            }
            Event::Fetched(address, rows) => {
                self.in_flight.remove(&address);
                if let Some(route) = self.routes.get_mut(&address) {
                    route.answered();
                }
                for fetched in rows {
                    self.handle_result(fetched, now);
                }
            }
            Event::Resolved(sources, found) => self.resolved(&sources, &found, now),
            Event::OutOfRange(source, range) => self.out_of_range(&source, range, now),
            Event::OutOfOrder(source, fault, rules) => {
                self.out_of_order(&source, fault, rules, now);
            }
            Event::Checked(check, checked) => self.checked(&check, checked, now),
            Event::Refreshed(refreshed) => {
                self.refreshes.done(now, self.backoff.next_pause());
                if refreshed.is_ok() {
                    self.shared.grow();
                }
            }
        }
    }

    /// Handles the result for one partition.
    fn handle_result(&mut self, fetched: Fetched, now: Duration) {
        let Fetched { source, outcome } = fetched;
        match outcome {
            Ok(data) => self.deliver(source, &data, now),
            // The request was abandoned, as its position is obsolete.
            Err(ClientError::Closed) => {}
            Err(error) if error.code() == Some(ErrorCode::OffsetOutOfRange) => {
                self.reset_position(source, now);
            }
            Err(error) if self.refusals.refuse(&self.shared, &source, &error, now) => {}
            Err(error) => self.handle_error(&source, error, now),
        }
    }

    pub(super) fn deliver(&mut self, source: Source, data: &PartitionData, now: Duration) {
        self.backoff.reset();
        let shared = &self.shared;
        let (slot, generation) = (source.slot, source.generation);
        let rules = self.rules.get(&source.partition);
        let allows = |fault, place| rules.is_some_and(|rules| rules.allows(fault, place));
        let found = in_order(&data.records, source.place(), data.high_watermark, allows);
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.refuse(&source, &source.damaged(error), now),
        };
        if found.end.is_none() {
            let withheld = data.withheld(source.position);
            let withheld = withheld.filter(|fault| !allows(*fault, source.place()));
            if let Some(fault) = found.fault.or(withheld) {
                return self.ask_rules(source, fault, now);
            }
        }
        let next = found.end.filter(|end| *end > source.position);
        let records = data.records.slice(..found.size);
        if let Some(error) = Refusals::still_damaged(shared, &source, records.clone()) {
            return self.refuse(&source, &error, now);
        }
        shared.assignment.update(slot, generation, |slot| {
            slot.high_watermark = data.high_watermark;
            slot.is_dry = data.is_dry;
            slot.served(source.position);
            slot.epochs.note(&records);
            if let Some(next) = next {
                slot.target = Target::At(next);
                slot.boundary = Some(next);
            }
        });
        if next.is_some() {
            let chunk = Chunk::new(source, records, shared.config.check_crcs);
            shared.arrivals.push(chunk, |chunk| shared.has_moved(chunk));
        }
    }

    /// Requests the offset rules, which may permit this fault; the slot is not fetched meanwhile.
    fn ask_rules(&mut self, source: Source, fault: OrderFault, now: Duration) {
        self.paused.insert(source.slot, now.saturating_add(LOOK_UP_MAX));
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            let deadline = brokers.deadline("asking for the rules of offsets", LOOK_UP_MAX);
            let partition = &source.partition;
            let about = std::slice::from_ref(&partition.topic);
            let asking = || OffsetRules::ask(&brokers, partition);
            let rules = brokers.until(deadline, about, asking).await;
            Event::OutOfOrder(source, fault, rules)
        });
    }

    /// Fetches again if the rules permit the fault, and gives up the partition otherwise.
    fn out_of_order(
        &mut self,
        source: &Source,
        fault: OrderFault,
        rules: Result<OffsetRules, ClientError>,
        now: Duration,
    ) {
        self.paused.remove(&source.slot);
        match rules {
            Ok(rules) if rules.allows(fault, source.place()) => {
                self.rules.insert(source.partition.clone(), rules);
            }
            Ok(_) => self.refuse(source, &source.damaged(fault), now),
            Err(error) => self.handle_error(source, error, now),
        }
    }

    /// Handles a position outside the log.
    fn reset_position(&mut self, source: Source, now: Duration) {
        let start = match self.shared.config.out_of_range {
            OutOfRange::Earliest => Start::Earliest,
            OutOfRange::Latest => Start::Latest,
            OutOfRange::Error => return self.ask_range(source, now),
        };
        tracing::info!(
            partition = %source.partition, position = %source.position, ?start,
            "the position is out of range"
        );
        self.shared.assignment.aim(source.slot, source.generation, start);
    }

    /// Looks up the log's offset range for the error message.
    fn ask_range(&mut self, source: Source, now: Duration) {
        let limit = now.saturating_add(LOOK_UP_MAX);
        self.paused.insert(source.slot, limit);
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            let deadline = brokers.deadline("looking up offsets", LOOK_UP_MAX);
            let range = log_range(&brokers, deadline, &source.partition).await;
            Event::OutOfRange(source, range)
        });
    }

    fn out_of_range(
        &mut self,
        source: &Source,
        range: Result<(Offset, Offset), ClientError>,
        now: Duration,
    ) {
        self.paused.remove(&source.slot);
        match range {
            // The position was outside the log when it was fetched, and is inside now.
            Ok((earliest, latest)) if (earliest..=latest).contains(&source.position) => {}
            Ok(range) => self.shared.stop(source, source.out_of_range(range)),
            Err(error) => self.handle_error(source, error, now),
        }
    }

    fn resolved(
        &mut self,
        sources: &[Source],
        found: &Result<Vec<FoundOffset>, ClientError>,
        now: Duration,
    ) {
        for source in sources {
            self.resolving.remove(&source.slot);
            match found {
                Ok(found) => {
                    let row = found.iter().find(|row| row.partition == source.partition);
                    let offset = row.and_then(|row| row.offset);
                    // No record has that timestamp or a later one yet.
                    let start = offset.map_or(Start::Latest, Start::Offset);
                    self.shared.assignment.aim(source.slot, source.generation, start);
                }
                Err(error) => self.handle_error(source, error.clone(), now),
            }
        }
        // A caller waiting for the end may have reached it already.
        self.shared.arrivals.changed().wake_all();
    }

    /// Handles an error of one partition: a pause before the next attempt, or a returned error.
    fn handle_error(&mut self, source: &Source, error: ClientError, now: Duration) {
        match error.remedy() {
            Remedy::Reject | Remedy::Fatal => self.shared.stop(source, error),
            Remedy::Refresh | Remedy::Retry => {
                tracing::debug!(partition = %source.partition, %error, "the fetch is retried");
                self.refreshes.mark(&source.partition.topic);
                let until = self.pause_until(now);
                self.paused.insert(source.slot, until);
            }
        }
    }

    /// The end of the pause of a partition that failed at `now`. Partitions of one lost connection
    /// share it: advancing the backoff for each partition would lengthen the pause many times over.
    fn pause_until(&mut self, now: Duration) -> Duration {
        if self.shared_pause.0 != now {
            self.shared_pause = (now, now.saturating_add(self.backoff.next_pause()));
        }
        self.shared_pause.1
    }

    /// Gives up a partition whose records are damaged, until the broker returns intact ones.
    fn refuse(&mut self, source: &Source, error: &ClientError, now: Duration) {
        self.refusals.refuse(&self.shared, source, error, now);
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.shared.arrivals.close();
    }
}
