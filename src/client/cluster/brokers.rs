//! The brokers of a cluster: discovery, metadata, and requests to them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::time::timeout;

use super::monitor::Monitor;
use super::named_leader::NamedLeader;
use super::topology::{TopicInfo, Topology};
use crate::client::error::Remedy;
use crate::client::{ClientConfig, ClientError};
use crate::config::{HostPort, nearest};
use crate::io::Clock;
use crate::link::{
    Backoff, Connection, Connector, LinkConfig, LinkError, Observer, SharedConnection, Tasks,
};
use crate::types::{BrokerId, PartitionIndex, TopicName};
use crate::wire::metadata::RequestTopic;
use crate::wire::{ApiKey, Message, MetadataRequest, MetadataResponse};

/// The cluster state shared by all tasks of a client.
#[derive(Debug)]
pub(crate) struct Brokers {
    config: ClientConfig,
    connector: Connector,
    monitor: Arc<Monitor>,
    topology: ArcSwap<Topology>,
    /// The broker that answered the last request for which any broker would do.
    pub(super) answered_last: ArcSwapOption<HostPort>,
    connections: Mutex<HashMap<HostPort, Arc<SharedConnection>>>,
}

/// The time limit of a call, and the operation's name in errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    operation: &'static str,
    begin: Duration,
    end: Duration,
}

impl Brokers {
    /// The cluster behind `config.bootstrap`; no broker is contacted yet.
    pub(crate) fn new(config: ClientConfig, clock: Arc<dyn Clock>, tasks: Tasks) -> Self {
        let monitor = Arc::new(Monitor::new(Arc::clone(&clock)));
        let observer: Arc<dyn Observer> = Arc::<Monitor>::clone(&monitor);
        let connector = Connector::new(link_config(&config), clock, tasks, observer);
        Self {
            config,
            connector,
            monitor,
            topology: ArcSwap::default(),
            answered_last: ArcSwapOption::empty(),
            connections: Mutex::default(),
        }
    }

    /// The settings.
    pub(crate) fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.connector.clock()
    }

    /// The pauses of a new sequence of attempts.
    pub(crate) fn backoff(&self) -> Backoff {
        self.connector.backoff()
    }

    /// The monitor of all connections.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Reconnects whenever the last connection breaks, and reports an outage if no broker answers.
    /// Without this task an idle client would notice neither an outage nor its end.
    pub(crate) async fn keep_reachable(self: Arc<Self>) {
        let mut backoff = self.backoff();
        loop {
            self.monitor.broken().await;
            while self.monitor.is_down() {
                match self.refresh(Some(&[]), false).await {
                    Ok(_) => break,
                    Err(ClientError::Connect { tried }) => self.monitor.lost(&tried),
                    Err(_) => {}
                }
                tokio::time::sleep(backoff.next_pause()).await;
            }
            backoff.reset();
        }
    }

    /// The handle that starts tasks.
    pub(crate) fn tasks(&self) -> &Tasks {
        self.connector.tasks()
    }

    /// The cached cluster metadata.
    pub(crate) fn topology(&self) -> Arc<Topology> {
        self.topology.load_full()
    }

    /// A deadline `timeout` from now.
    pub(crate) fn deadline(&self, operation: &'static str, timeout: Duration) -> Deadline {
        let begin = self.clock().monotonic();
        Deadline { operation, begin, end: begin.saturating_add(timeout) }
    }

    /// Opens a dedicated connection, so that other callers' responses do not delay this one's.
    pub(crate) async fn open(&self, address: &HostPort) -> Result<Connection, ClientError> {
        self.connector.connect(address).await.map_err(|error| self.explain(error))
    }

    /// Sends a request to the broker at `address` over the shared connection.
    pub(crate) async fn call<R: Message>(
        &self,
        address: &HostPort,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let connection = self.shared_connection(address).get().await;
        let connection = connection.map_err(|error| self.explain(error))?;
        Ok(connection.submit(request)?.answer().await?)
    }

    /// Sends a request to the broker with this id.
    pub(crate) async fn call_broker<R: Message>(
        &self,
        broker: BrokerId,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        if self.topology().address(broker).is_none() {
            self.refresh(Some(&[]), false).await?;
        }
        let address = self.topology().address(broker).cloned();
        let missing =
            || ClientError::unreachable(format!("broker {broker}"), "it is not in the cluster");
        self.call(&address.ok_or_else(missing)?, request).await
    }

    /// Requests metadata of `topics`: `None` asks for all topics, an empty list for the brokers
    /// alone.
    pub(crate) async fn refresh(
        &self,
        topics: Option<&[TopicName]>,
        may_create: bool,
    ) -> Result<MetadataResponse, ClientError> {
        let answer = self.call_any(&metadata_of(topics, may_create)).await?;
        self.learn(&answer);
        Ok(answer)
    }

    /// Requests metadata of `topics` from the broker at `address`.
    pub(super) async fn ask(
        &self,
        address: &HostPort,
        topics: &[TopicName],
    ) -> Result<(), ClientError> {
        let answer = self.call(address, &metadata_of(Some(topics), false)).await?;
        self.learn(&answer);
        Ok(())
    }

    /// Removes a deleted topic from the cached metadata.
    pub(crate) fn forget(&self, name: &TopicName) {
        self.topology.rcu(|known| {
            let mut next = Topology::clone(known);
            next.forget(name);
            next
        });
    }

    /// Caches the leaders that a broker has named in a response (KIP-951).
    pub(crate) fn take_over(&self, leaders: &[NamedLeader]) {
        if leaders.is_empty() {
            return;
        }
        self.topology.rcu(|known| {
            let mut next = Topology::clone(known);
            for leader in leaders {
                next.take_over(leader);
            }
            next
        });
    }

    pub(super) fn learn(&self, answer: &MetadataResponse) {
        self.topology.rcu(|known| {
            let mut next = Topology::clone(known);
            next.update(answer);
            next
        });
    }

    /// Returns a topic with at least one partition, requesting its metadata if it is not cached.
    pub(crate) async fn topic(
        &self,
        name: &TopicName,
        may_create: bool,
    ) -> Result<TopicInfo, ClientError> {
        if let Some(info) = usable(self.topology().topic(name)) {
            return Ok(info);
        }
        self.refresh(Some(std::slice::from_ref(name)), may_create).await?;
        let topology = self.topology();
        let info = topology.topic(name);
        usable(info).ok_or_else(|| match info {
            Some(info) if info.error.is_error() => {
                ClientError::from_code(info.error, name.as_str(), None)
            }
            _ => ClientError::no_topic(name),
        })
    }

    /// Adds the most similar topic name to the error about a topic that does not exist.
    pub(crate) async fn with_nearest(&self, error: ClientError) -> ClientError {
        let ClientError::TopicNotFound { topic, nearest: None } = error else { return error };
        // Without an answer the error is still correct, it only lacks the suggestion.
        let known = self.refresh(None, false).await.unwrap_or_default();
        let own = known.topics.iter().filter(|topic| !topic.is_internal);
        let names: Vec<&str> = own.filter_map(|topic| topic.name.as_deref()).collect();
        let is_partition = topic.rsplit_once('-').is_some_and(|(name, _)| names.contains(&name));
        let meant = if is_partition { None } else { nearest(&topic, names.into_iter()) };
        ClientError::TopicNotFound { nearest: meant.map(str::to_owned), topic }
    }

    /// Returns true if the cluster has a single broker, which then knows every topic.
    pub(crate) fn is_single(&self) -> bool {
        self.topology().addresses().count() == 1
    }

    /// Returns the address of a partition's leader, requesting metadata if it is not cached.
    pub(crate) async fn leader(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Result<HostPort, ClientError> {
        let info = self.topic(topic, false).await?;
        if info.partition(partition).is_none() {
            return Err(ClientError::no_topic(format_args!("{topic}-{partition}")));
        }
        let leader = self.topology().leader(topic, partition).cloned();
        leader.ok_or_else(|| {
            let code = crate::wire::ErrorCode::LeaderNotAvailable;
            ClientError::from_code(code, &format!("{topic}-{partition}"), None)
        })
    }

    /// Repeats `work` until it succeeds, fails for good, or the deadline passes. An error that
    /// shows stale metadata causes a refresh of the topics in `about`.
    pub(crate) async fn until<T, F>(
        &self,
        deadline: Deadline,
        about: &[TopicName],
        mut work: impl FnMut() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let mut backoff = self.backoff();
        let (mut last_error, mut has_connected) = (None, false);
        loop {
            let left = deadline.end.saturating_sub(self.clock().monotonic());
            let error = match timeout(left, work()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => error,
                Err(_) => return Err(self.overdue(deadline, last_error)),
            };
            has_connected |= !error.is_unconnected();
            let error = if has_connected { error.after_connection() } else { error };
            match error.remedy() {
                Remedy::Reject | Remedy::Fatal => return Err(error),
                Remedy::Refresh if !about.is_empty() => {
                    // If the refresh fails, the next attempt fails too, with the more useful
                    // reason.
                    let _ = timeout(left, self.refresh(Some(about), false)).await;
                }
                Remedy::Refresh | Remedy::Retry => {}
            }
            let pause = backoff.next_pause();
            if self.clock().monotonic().saturating_add(pause) >= deadline.end {
                return Err(self.overdue(deadline, Some(error)));
            }
            last_error = Some(error);
            tokio::time::sleep(pause).await;
        }
    }

    /// The error for a call past its deadline. A missing topic is reported as missing, not as a
    /// timeout.
    fn overdue(&self, deadline: Deadline, last_error: Option<ClientError>) -> ClientError {
        match last_error {
            Some(missing @ ClientError::TopicNotFound { .. }) => missing,
            last_error => ClientError::Timeout {
                operation: deadline.operation,
                elapsed: self.clock().monotonic().saturating_sub(deadline.begin),
                last_error: last_error.map(Box::new),
            },
        }
    }

    /// Has the next request to the broker at `address` open another shared connection.
    pub(super) fn forget_connection(&self, address: &HostPort) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.remove(address);
    }

    fn shared_connection(&self, address: &HostPort) -> Arc<SharedConnection> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(SharedConnection::new(address.clone(), self.connector.clone()));
        Arc::clone(connections.entry(address.clone()).or_insert_with(make))
    }

    /// Converts an error, and adds a hint if its address was advertised by the brokers and not
    /// configured by the user.
    fn explain(&self, error: LinkError) -> ClientError {
        let is_configured = self.config.bootstrap.contains(&error.address);
        let mut error = ClientError::from(error);
        if let ClientError::Connect { tried } = &mut error
            && !is_configured
        {
            for attempt in tried {
                attempt.reason.push_str(
                    " (the brokers advertise this address; if it is not reachable from here, \
                     start them with --advertise)",
                );
            }
        }
        error
    }
}

/// The request for metadata of `topics`, of all if there is no list.
pub(super) fn metadata_of(topics: Option<&[TopicName]>, may_create: bool) -> MetadataRequest {
    let row = |name: &TopicName| RequestTopic {
        name: Some(name.as_str().to_owned()),
        ..RequestTopic::default()
    };
    MetadataRequest {
        topics: topics.map(|topics| topics.iter().map(row).collect()),
        allow_auto_topic_creation: may_create,
        ..MetadataRequest::default()
    }
}

fn link_config(config: &ClientConfig) -> LinkConfig {
    LinkConfig {
        client_id: config.client_id.clone(),
        connect_timeout: config.connect_timeout,
        request_timeout: config.request_timeout,
        backoff: config.retry_backoff,
        backoff_max: config.retry_backoff_max,
        version_max: last_by_name,
        network: None,
    }
}

/// The last version of an API that identifies topics by name (KIP-516). This client uses no later
/// versions: a cached topic id could belong to a topic that has been deleted since.
fn last_by_name(api: ApiKey) -> i16 {
    match api {
        ApiKey::Produce => 12,
        ApiKey::OffsetCommit | ApiKey::OffsetFetch => 9,
        _ => i16::MAX,
    }
}

fn usable(info: Option<&TopicInfo>) -> Option<TopicInfo> {
    info.filter(|info| !info.error.is_error() && !info.partitions.is_empty()).cloned()
}
