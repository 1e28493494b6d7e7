//! The way to one leader: a connection, the session on it, and pauses while it is not reachable.
//!
//! One request is under way at a time. If an answer is given up, its connection is closed: the next
//! request would wait behind that answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::config::HostPort;
use crate::io::Clock;
use crate::link::{Backoff, Connection, Connector, LinkError, LinkFault};
use crate::metadata::Membership;
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::fetch_session::{FetchSession, Scope, in_request};
use crate::replica_manager::replicas::Replicas;
use crate::types::BrokerId;
use crate::wire::fetch::{FetchResponse, ReplicaState};
use crate::wire::{ApiKey, ErrorCode, FetchRequest, Message};

/// The first version of Fetch in which a follower names itself with its incarnation.
const VERSION_MIN: i16 = 15;

/// The number of failures in a row after which they are reported. A single failure is normal: a
/// broker that starts is not yet known to all other brokers.
const REPORTED: u32 = 3;

/// The identity with which this broker fetches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    pub(super) broker: BrokerId,
    pub(super) membership: Membership,
}

/// The reason why a leader cannot be fetched from.
#[derive(Debug, thiserror::Error)]
enum LeaderFault {
    /// The leader is not registered with an address, or not registered at all.
    #[error(
        "it has not registered an address for other brokers; see that it runs, and give it \
         --advertise, or the listener that inter.broker.listener.name names here"
    )]
    NoAddress,
    /// The connection failed.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The leader refused the whole request.
    #[error("{address}: it answers {code}; its log says why")]
    Refused {
        /// The address of the leader.
        address: HostPort,
        /// The error of the answer.
        code: ErrorCode,
    },
}

/// The way to a leader.
#[derive(Debug)]
pub(super) struct LeaderLink {
    leader: BrokerId,
    connector: Connector,
    config: ReplicaConfig,
    clock: Arc<dyn Clock>,
    connection: Option<OpenConnection>,
    session: FetchSession,
    backoff: Backoff,
    /// The number of failures since the last answer.
    failures: u32,
}

#[derive(Debug)]
struct OpenConnection {
    address: HostPort,
    connection: Connection,
    version: i16,
}

impl LeaderLink {
    /// A way to `leader` that is opened by the first fetch.
    pub(super) fn new(
        leader: BrokerId,
        connector: Connector,
        config: ReplicaConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (backoff, session) = (connector.backoff(), FetchSession::new(config.wait_max));
        let (connection, failures) = (None, 0);
        Self { leader, connector, config, clock, connection, session, backoff, failures }
    }

    /// The positions to which the last answer refers.
    pub(super) fn session(&self) -> &FetchSession {
        &self.session
    }

    /// Fetches what is new for these replicas; nothing if there is nothing to ask for any more.
    /// Without an answer, pauses and returns `None`; the caller then gives the fetch up. Reports
    /// the fault once, after some failures in a row.
    pub(super) async fn fetch(
        &mut self,
        address: Option<&HostPort>,
        follower: Follower,
        replicas: &mut Replicas,
    ) -> Option<FetchResponse> {
        match self.exchange(address, follower, replicas).await {
            Ok(None) => Some(FetchResponse::default()),
            Ok(Some(answer)) => {
                self.backoff.reset();
                if std::mem::take(&mut self.failures) >= REPORTED {
                    tracing::info!("broker {} is fetched from again", self.leader);
                }
                Some(answer)
            }
            Err(fault) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures == REPORTED {
                    let (leader, partitions) = (self.leader, counted(replicas.positions().len()));
                    tracing::warn!(
                        "nothing of {partitions} can be fetched from broker {leader}, the leader: \
                         {fault}; trying again"
                    );
                }
                sleep(self.backoff.next_pause()).await;
                None
            }
        }
    }

    /// Sends the leader another request between two fetches. Returns `None` without an answer; the
    /// next fetch then meets the fault too.
    pub(super) async fn ask<R: Message>(&mut self, request: &R) -> Option<R::Response> {
        let open = self.connection.as_ref()?;
        let reply = open.connection.submit(request).ok()?;
        let answer = reply.answer_within(self.config.answer_timeout).await.ok();
        if answer.is_none() {
            self.give_up();
        }
        answer
    }

    /// Gives up the answer under way, if there is one.
    pub(super) fn give_up(&mut self) {
        self.connection = None;
        self.session.restart();
    }

    /// Sends a fetch and awaits its answer; `None` if there is nothing to ask for any more.
    async fn exchange(
        &mut self,
        address: Option<&HostPort>,
        follower: Follower,
        replicas: &mut Replicas,
    ) -> Result<Option<FetchResponse>, LeaderFault> {
        let address = address.ok_or(LeaderFault::NoAddress)?;
        let partition_max = self.config.partition_max;
        let open = match self.connection.take() {
            Some(open) if open.address == *address && open.connection.is_open() => open,
            _ => {
                self.session.restart();
                self.connect(address).await?
            }
        };
        let open = self.connection.insert(open);
        let now = self.clock.monotonic();
        let scope = self.session.scope(now);
        let wanted = replicas.note_asking(scope, now);
        if wanted.is_empty() {
            return Ok(None);
        }
        let asked = self.session.request(wanted, (scope, now), partition_max);
        let wait = match scope {
            Scope::Whole => self.config.wait_max,
            Scope::Changes => self.config.wait_max.min(self.session.until_whole(now)),
        };
        let request = FetchRequest {
            max_wait_ms: in_millis(wait),
            min_bytes: 1,
            max_bytes: in_request(self.config.response_max),
            replica_state: ReplicaState {
                replica_id: follower.broker.0,
                replica_epoch: follower.membership.incarnation.0,
            },
            replica_key: follower.membership.key.to_bytes().to_vec().into(),
            ..asked
        };
        let reply = open.connection.submit_with(open.version, &request, &[])?;
        let limit = self.config.answer_timeout.saturating_add(self.config.wait_max);
        let answer = reply.answer_within(limit).await?;
        match self.session.answered(&answer) {
            Ok(()) => Ok(Some(answer)),
            Err(code) if is_about_session(code) => Ok(Some(FetchResponse::default())),
            Err(code) => Err(LeaderFault::Refused { address: address.clone(), code }),
        }
    }

    async fn connect(&self, address: &HostPort) -> Result<OpenConnection, LeaderFault> {
        let connection = self.connector.connect(address).await?;
        let version = connection.version_of::<FetchRequest>(i16::MAX)?;
        if version < VERSION_MIN {
            let (api, least) = (FetchRequest::KEY.name(), *FetchRequest::VERSIONS.start());
            let fault = LinkFault::UnsupportedVersion { api, least, most: version };
            return Err(LeaderFault::Link(fault.of(address)));
        }
        Ok(OpenConnection { address: address.clone(), connection, version })
    }
}

/// Imposes no limit on the version: every field that a follower sends exists in the highest one.
pub(super) fn any_version(_: ApiKey) -> i16 {
    i16::MAX
}

/// Returns true for errors after which a new session is enough.
fn is_about_session(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::FetchSessionIdNotFound
            | ErrorCode::InvalidFetchSessionEpoch
            | ErrorCode::FetchSessionTopicIdError
    )
}

/// A number of partitions, in words.
fn counted(partitions: usize) -> String {
    match partitions {
        1 => "1 partition".to_owned(),
        count => format!("{count} partitions"),
    }
}

/// A duration as requests encode it, at least as long: no wait at all would end at once.
fn in_millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
}
