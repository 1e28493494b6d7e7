//! The sending task, sole owner of the send queues and of the producer's connections to brokers.
//!
//! Each turn takes batches that are due, one per partition and request, and sends them to the
//! partitions' leaders. Connecting, metadata and producer id requests, and waiting for responses
//! are separate jobs whose results arrive as events.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::audit::TOPIC;
use super::delivery::Settled;
use super::packed::Identity;
use super::publishing::PUBLISH_EVERY;
use super::queue::Dues;
use super::request::{Returned, Shipment};
use super::send_queue::{Next, SendQueue};
use super::shared::Shared;
use super::splitting::Refused;
use crate::client::ClientError;
use crate::client::cluster::{Refresh, Refreshes, Topology};
use crate::client::error::{Remedy, topic_name};
use crate::config::HostPort;
use crate::link::{Backoff, Connection, Readiness, Route};
use crate::record::Compressor;
use crate::types::{ProducerEpoch, ProducerId, TopicName, TopicPartition};
use crate::wire::{ErrorCode, InitProducerIdRequest};

/// The size up to which small batches are combined into one request.
const SHIPMENT_MAX: usize = 4 << 20;

/// The state of the sending task.
#[derive(Debug)]
pub(crate) struct Sender {
    shared: Arc<Shared>,
    compressor: Compressor,
    send_queues: Vec<SendQueue>,
    numbers: HashMap<TopicPartition, usize>,
    active: BTreeSet<usize>,
    routes: HashMap<HostPort, Route>,
    jobs: JoinSet<Event>,
    identity: Option<Identity>,
    is_asking_identity: bool,
    /// Producer ids are not requested before this time.
    pause_until: Duration,
    refreshes: Refreshes,
    backoff: Backoff,
    /// The next time at which counts are published, if there are any.
    publish_at: Option<Duration>,
    /// The last failure, if nothing has succeeded since.
    trouble: Option<ClientError>,
}

/// The result of a job.
#[derive(Debug)]
enum Event {
    Connected(HostPort, Result<Connection, ClientError>),
    Answered(HostPort, Vec<Returned>),
    Identified(Result<Identity, ClientError>),
    Refreshed(Vec<TopicName>, Result<(), ClientError>),
    AuditFound(Result<(TopicName, usize), ClientError>),
}

impl Sender {
    /// The sending task of the producer that owns `shared`.
    pub(crate) fn new(shared: Arc<Shared>, compressor: Compressor) -> Self {
        let backoff = shared.brokers.backoff();
        let refreshes = Refreshes::new(shared.now(), shared.metadata_max_age());
        Self {
            shared,
            compressor,
            send_queues: Vec::new(),
            numbers: HashMap::new(),
            active: BTreeSet::new(),
            routes: HashMap::new(),
            jobs: JoinSet::new(),
            identity: None,
            is_asking_identity: false,
            pause_until: Duration::ZERO,
            refreshes,
            backoff,
            publish_at: None,
            trouble: None,
        }
    }

    /// Sends until the task is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            self.take_over_listed();
            let pause = self.turn().map(|time| time.saturating_sub(self.shared.now()));
            tokio::select! {
                Some(event) = self.jobs.join_next() => {
                    self.take_in(event);
                    while let Some(event) = self.jobs.try_join_next() {
                        self.take_in(event);
                    }
                }
                () = self.shared.wakeups.work.notified() => {}
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
            }
        }
    }

    /// Takes over queues that became non-empty.
    fn take_over_listed(&mut self) {
        for queue in self.shared.take_listed() {
            let known = self.numbers.get(queue.partition()).copied();
            let number = known.unwrap_or_else(|| {
                let config = &self.shared.config;
                let backoff = self.shared.brokers.backoff();
                self.numbers.insert(queue.partition().clone(), self.send_queues.len());
                self.send_queues.push(SendQueue::new(
                    queue,
                    config.is_idempotent(),
                    config.in_flight_max,
                    backoff,
                ));
                self.send_queues.len() - 1
            });
            self.active.insert(number);
        }
    }

    /// Sends everything that is due and possible, and returns the time of the next check.
    fn turn(&mut self) -> Option<Duration> {
        let dues = self.shared.dues();
        let mut next = self.expire(dues.now);
        loop {
            let topology = self.shared.brokers.topology();
            let mut shipments: HashMap<HostPort, Shipment> = HashMap::new();
            for number in self.active.clone() {
                let time = self.load(number, &topology, &dues, &mut shipments);
                next = earlier(next, time);
            }
            if shipments.is_empty() {
                break;
            }
            for (address, shipment) in shipments {
                self.ship(address, shipment, dues.now);
            }
        }
        let send_queues = &self.send_queues;
        self.active.retain(|&number| {
            let send_queue = &send_queues[number];
            !(send_queue.is_idle() && send_queue.queue().unlist_if_empty())
        });
        next = earlier(next, self.publish_counts(dues.now));
        earlier(next, self.refresh(dues.now))
    }

    /// Adds the next batch of a send queue to its request if it may be sent; otherwise returns the
    /// time to check again.
    fn load(
        &mut self,
        number: usize,
        topology: &Topology,
        dues: &Dues,
        shipments: &mut HashMap<HostPort, Shipment>,
    ) -> Option<Duration> {
        let send_queue = &mut self.send_queues[number];
        let TopicPartition { topic, partition } = send_queue.queue().partition();
        let Some(address) = topology.leader(topic, *partition) else {
            self.refreshes.mark(topic);
            return None;
        };
        if shipments.get(address).is_some_and(|shipment| shipment.bytes() >= SHIPMENT_MAX) {
            return None;
        }
        if let Some(time) = self.reach(address, dues.now)? {
            return Some(time);
        }
        let send_queue = &mut self.send_queues[number];
        let mut next = send_queue.next(address, dues, &mut self.compressor);
        if matches!(next, Next::NeedsIdentity) {
            match self.identity.filter(|identity| send_queue.accepts(*identity)) {
                Some(identity) => {
                    send_queue.adopt(identity);
                    next = send_queue.next(address, dues, &mut self.compressor);
                }
                None => return self.ask_identity(dues.now),
            }
        }
        match next {
            Next::Send(batch) => {
                shipments.entry(address.clone()).or_default().add(number, batch);
                None
            }
            Next::NotBefore(time) => Some(time),
            Next::Nothing | Next::NeedsIdentity => None,
        }
    }

    /// Returns `Some(None)` if requests can be sent to `address`, `Some(Some(time))` if the next
    /// attempt is due at `time`, and `None` if an event will follow.
    #[expect(clippy::option_option, reason = "three answers")]
    fn reach(&mut self, address: &HostPort, now: Duration) -> Option<Option<Duration>> {
        let shared = &self.shared;
        let route = self
            .routes
            .entry(address.clone())
            .or_insert_with(|| Route::new(shared.brokers.backoff()));
        match route.readiness(now, self.shared.config.in_flight_max) {
            Readiness::Ready(_) => Some(None),
            Readiness::NotBefore(time) => Some(Some(time)),
            Readiness::Busy => None,
            Readiness::Connect => {
                let (brokers, address) = (Arc::clone(&self.shared.brokers), address.clone());
                self.jobs.spawn(async move {
                    let connection = brokers.open(&address).await;
                    Event::Connected(address, connection)
                });
                None
            }
        }
    }

    fn ship(&mut self, address: HostPort, shipment: Shipment, now: Duration) {
        let config = &self.shared.config;
        let Some(route) = self.routes.get_mut(&address) else { return };
        let sent = match route.readiness(now, config.in_flight_max) {
            Readiness::Ready(connection) => {
                shipment.send(connection, config.acks.code(), self.shared.request_timeout_ms())
            }
            _ => Err(ClientError::unreachable(&address, "the connection is over")),
        };
        match sent {
            Ok(sent) => {
                route.sent();
                let limit = self.shared.answer_limit(shipment.opened_at().unwrap_or(now), now);
                let brokers = Arc::clone(&self.shared.brokers);
                self.jobs.spawn(async move {
                    let returned = shipment.arrive(sent, limit, (&brokers, &address)).await;
                    Event::Answered(address, returned)
                });
            }
            Err(error) => self.take_back(shipment.settle(&Err(error))),
        }
    }

    fn take_in(&mut self, event: Result<Event, tokio::task::JoinError>) {
        let event = match event {
            Ok(event) => event,
            // Jobs are never aborted while this task lives, and do not panic.
            Err(error) => unreachable!("a job of the producer ended: {error}"),
        };
        let now = self.shared.now();
        match event {
            Event::Connected(address, connected) => {
                let Some(route) = self.routes.get_mut(&address) else { return };
                match connected {
                    Ok(connection) => route.connected(connection),
                    Err(error) => {
                        tracing::debug!(%error, "the producer cannot reach a broker");
                        route.failed(now);
                        self.report_delay(&error, now);
                        self.trouble = Some(error);
                        self.refreshes.mark_all(self.shared.topics.names());
                    }
                }
            }
            Event::Answered(address, returned) => {
                if let Some(route) = self.routes.get_mut(&address) {
                    route.answered();
                }
                self.take_back(returned);
            }
            Event::Identified(identified) => self.identified(identified, now),
            Event::AuditFound(Ok((name, partitions))) => {
                self.shared.topics.learn(&name, partitions);
                self.publish_at = Some(now);
            }
            Event::AuditFound(Err(error)) => {
                tracing::warn!(%error, "the audit topic is unavailable; counts are kept");
            }
            Event::Refreshed(topics, refreshed) => {
                self.refreshes.done(now, self.backoff.next_pause());
                match refreshed {
                    Ok(()) => {
                        self.shared.learn_partitions();
                        self.give_up_deleted(&topics);
                    }
                    Err(error) => {
                        self.report_delay(&error, now);
                        self.trouble = Some(error);
                    }
                }
            }
        }
    }

    fn take_back(&mut self, returned: Vec<Returned>) {
        let now = self.shared.now();
        let mut settled = Settled::new();
        for (number, batch, outcome) in returned {
            match &outcome {
                Ok(ack) => {
                    if let Some(audit) = &self.shared.audit {
                        let topic = &batch.delivery.partition().topic;
                        audit.count(topic, &batch.windows, ack);
                    }
                    self.backoff.reset();
                    self.trouble = None;
                    self.shared.delay_report.delivered();
                }
                Err(Refused { error, .. }) => match error.remedy() {
                    Remedy::Refresh => {
                        self.report_delay(error, now);
                        self.refreshes.mark(&batch.delivery.partition().topic);
                        self.trouble = Some(error.clone());
                    }
                    Remedy::Retry => self.trouble = Some(error.clone()),
                    Remedy::Reject | Remedy::Fatal => {}
                },
            }
            settled.extend(self.send_queues[number].returned(
                batch,
                outcome,
                now,
                &mut self.compressor,
            ));
        }
        self.shared.settled(settled);
    }

    /// Reports an error that delays records.
    fn report_delay(&self, error: &ClientError, now: Duration) {
        let oldest = self.active.iter().filter_map(|&number| self.send_queues[number].oldest());
        let waited = oldest.min().map(|opened_at| now.saturating_sub(opened_at));
        self.shared.delay_report.failed(error, waited);
    }

    /// Gives up batches past the delivery timeout, and returns the time at which the next batch
    /// will be past it.
    fn expire(&mut self, now: Duration) -> Option<Duration> {
        let timeout = self.shared.config.delivery_timeout;
        let mut next = None;
        let mut settled = Settled::new();
        for &number in &self.active {
            let send_queue = &mut self.send_queues[number];
            let Some(oldest) = send_queue.oldest() else { continue };
            let limit = oldest.saturating_add(timeout);
            if limit > now {
                next = earlier(next, Some(limit));
                continue;
            }
            let error = ClientError::Timeout {
                operation: "delivering a record",
                elapsed: timeout,
                last_error: self.trouble.clone().map(Box::new),
            };
            // `expire` excludes its limit, and a batch opened exactly one timeout ago is past it.
            let opened_before = now.saturating_sub(timeout) + Duration::from_nanos(1);
            settled.extend(send_queue.expire(opened_before, &error));
        }
        self.shared.settled(settled);
        next
    }

    /// Requests metadata of stale topics, or of all topics when it is too old.
    fn refresh(&mut self, now: Duration) -> Option<Duration> {
        let topics = match self.refreshes.next(now, || self.shared.topics.names()) {
            Refresh::Request(topics) => topics,
            Refresh::NotBefore(time) => return Some(time),
            Refresh::Pending => return None,
        };
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            // Only the first send to a topic may create it. Otherwise a topic that is deleted while
            // a producer is open would be created again, empty.
            let refreshed = brokers.refresh(Some(&topics), false).await.map(drop);
            Event::Refreshed(topics, refreshed)
        });
        None
    }

    /// Gives up the records of topics that no longer exist, if the cluster has a single broker.
    fn give_up_deleted(&mut self, topics: &[TopicName]) {
        let topology = self.shared.brokers.topology();
        for topic in topics {
            let concerns = |partition: &TopicPartition| partition.topic == *topic;
            let code = topology.topic(topic).map(|info| info.error);
            let is_deleted = code == Some(ErrorCode::UnknownTopicOrPartition);
            let mut active = self.active.iter().map(|&number| &self.send_queues[number]);
            if !is_deleted || !active.any(|send_queue| concerns(send_queue.queue().partition())) {
                continue;
            }
            let error = ClientError::no_topic(topic);
            // In a cluster of several brokers, the one that answered may have stale metadata. So
            // retry until the delivery timeout, whose error then contains this one.
            self.trouble = Some(error.clone());
            if self.shared.brokers.is_single() {
                self.abandon(&error, concerns);
            }
        }
    }

    /// Gives up all records of these partitions that are not in flight.
    fn abandon(&mut self, error: &ClientError, concerns: impl Fn(&TopicPartition) -> bool) {
        let mut settled = Settled::new();
        for &number in &self.active {
            let send_queue = &mut self.send_queues[number];
            if concerns(send_queue.queue().partition()) {
                settled.extend(send_queue.abandon(error));
            }
        }
        self.shared.settled(settled);
    }

    /// Publishes counts that have waited long enough, and returns the time of the next publication.
    fn publish_counts(&mut self, now: Duration) -> Option<Duration> {
        if !self.shared.has_counts() {
            self.publish_at = None;
            return None;
        }
        let publish_at = *self.publish_at.get_or_insert(now.saturating_add(PUBLISH_EVERY));
        if now < publish_at {
            return Some(publish_at);
        }
        let next = now.saturating_add(PUBLISH_EVERY);
        self.publish_at = Some(next);
        if self.shared.topics.get(TOPIC).is_none() {
            let brokers = Arc::clone(&self.shared.brokers);
            self.jobs.spawn(async move {
                let found = async {
                    let name = topic_name(TOPIC)?;
                    let partitions = brokers.topic(&name, true).await?.partitions.len();
                    Ok((name, partitions))
                };
                Event::AuditFound(found.await)
            });
        } else if let Err(error) = self.shared.publish_counts() {
            tracing::warn!(%error, "the audit counts were not published");
        }
        Some(next)
    }

    fn ask_identity(&mut self, now: Duration) -> Option<Duration> {
        if self.is_asking_identity {
            return None;
        }
        if now < self.pause_until {
            return Some(self.pause_until);
        }
        self.is_asking_identity = true;
        self.identity = None;
        let brokers = Arc::clone(&self.shared.brokers);
        self.jobs.spawn(async move {
            let request = InitProducerIdRequest::default();
            let answer =
                brokers.call_any(&request).await.and_then(|answer| match answer.error_code {
                    ErrorCode::None => Ok(Identity {
                        id: ProducerId(answer.producer_id),
                        epoch: ProducerEpoch(answer.producer_epoch),
                    }),
                    code => Err(ClientError::from_code(code, "a producer id", None)),
                });
            Event::Identified(answer)
        });
        None
    }

    fn identified(&mut self, identified: Result<Identity, ClientError>, now: Duration) {
        self.is_asking_identity = false;
        match identified {
            Ok(identity) => {
                self.shared.delivered.identified(identity);
                self.identity = Some(identity);
            }
            Err(error) if matches!(error.remedy(), Remedy::Retry | Remedy::Refresh) => {
                self.pause_until = now.saturating_add(self.backoff.next_pause());
                self.report_delay(&error, now);
                self.trouble = Some(error);
            }
            Err(error) => {
                tracing::warn!(%error, count = self.active.len(), "no producer id is available");
                self.abandon(&error, |_| true);
            }
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.close();
    }
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
