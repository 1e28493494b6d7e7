//! The task of a group member: joins, heartbeats, commits, rejoins after a change, and leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::assignors::{PartitionsByTopic, Subscriber};
use super::calls::{self, MemberIdentity};
use super::coordinator::Coordinator;
use super::state::{Joined, Membership};
use crate::client::cluster::Brokers;
use crate::client::committed;
use crate::client::consumer::config::{Commit, GroupConfig, Start, Strategy};
use crate::client::consumer::shared::Shared;
use crate::client::error::Remedy;
use crate::client::{ClientError, Event};
use crate::link::Backoff;
use crate::types::{Offset, TopicName, TopicPartition};
use crate::wire::{ErrorCode, JoinGroupResponse};

/// The time beyond the rebalance timeout that a response may take.
const REBALANCE_SLACK: Duration = Duration::from_secs(10);

/// The state of the membership task.
#[derive(Debug)]
pub(crate) struct Member {
    shared: Arc<Shared>,
    membership: Arc<Membership>,
    topics: Vec<TopicName>,
    /// The member id assigned by the coordinator; empty at first.
    name: String,
    committed: BTreeMap<TopicPartition, Offset>,
    /// The basis of the current assignment, if this member is the group's leader.
    basis: Option<AssignmentBasis>,
    last_heartbeat: Duration,
    backoff: Backoff,
}

/// The basis of an assignment that this leader computed.
#[derive(Debug)]
struct AssignmentBasis {
    members: Vec<Subscriber>,
    counts: BTreeMap<String, usize>,
}

/// The reason why a member leaves its stable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The group is rebalancing.
    Rejoin,
    /// The group moved to a new generation without this member.
    Lost,
    /// The coordinator does not know the member id.
    Unknown,
    /// The consumer was closed, and the member has left.
    Left,
}

impl Member {
    /// The membership task of the consumer that owns `shared`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        membership: Arc<Membership>,
        topics: Vec<TopicName>,
    ) -> Self {
        let backoff = shared.brokers.backoff();
        Self {
            shared,
            membership,
            topics,
            name: String::new(),
            committed: BTreeMap::new(),
            basis: None,
            last_heartbeat: Duration::ZERO,
            backoff,
        }
    }

    /// Takes part in the group until the member leaves or fails for good.
    pub(crate) async fn run(mut self) {
        loop {
            let Err(error) = self.participate().await else { break };
            if self.membership.leaving.is_cancelled() {
                break;
            }
            if matches!(error.remedy(), Remedy::Reject | Remedy::Fatal) {
                self.shared.arrivals.fail_for_good(error);
                break;
            }
            tracing::debug!(%error, "looking up the group's coordinator again");
            let silence = self.shared.now().saturating_sub(self.last_heartbeat);
            if silence > self.group().session_timeout {
                self.give_up_assignment();
            }
            let pause = self.backoff.next_pause();
            let leaving = self.membership.leaving.clone();
            if leaving.run_until_cancelled(sleep(pause)).await.is_none() {
                break;
            }
        }
        self.give_up_assignment();
    }

    /// Takes part through one coordinator. Returns `Ok` only after leaving.
    async fn participate(&mut self) -> Result<(), ClientError> {
        let group = self.group().id.as_deref().unwrap_or_default();
        let coordinator = Coordinator::find(&self.shared, group).await?;
        self.membership.set_coordinator(coordinator.address());
        loop {
            // A reconnect within the session timeout keeps the membership.
            if self.membership.joined().is_none() {
                let leaving = self.membership.leaving.clone();
                let joining = self.join(&coordinator);
                match leaving.run_until_cancelled(joining).await {
                    None => return self.cancel_join(&coordinator).await,
                    Some(Err(error)) => self.check_rejoin(error)?,
                    Some(Ok(())) => {}
                }
                continue;
            }
            match self.maintain(&coordinator).await? {
                Change::Left => return Ok(()),
                Change::Rejoin => {
                    // Stop returning messages: messages returned after the commit would be read
                    // again by other members.
                    self.shared.suspend();
                    // Offsets that cannot be committed now are read again by the partition's next
                    // owner.
                    let _ = self.commit().await;
                    self.give_up_assignment();
                }
                Change::Lost => self.give_up_assignment(),
                Change::Unknown => {
                    self.name.clear();
                    self.give_up_assignment();
                }
            }
        }
    }

    /// Returns `Ok` if the member rejoins at once after this error of joining, or else the error.
    fn check_rejoin(&mut self, error: ClientError) -> Result<(), ClientError> {
        match error.code() {
            Some(ErrorCode::UnknownMemberId) => self.name.clear(),
            Some(ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration) => {}
            _ => return Err(error),
        }
        Ok(())
    }

    /// Joins the group and starts reading the assigned partitions.
    async fn join(&mut self, coordinator: &Coordinator) -> Result<(), ClientError> {
        let joined = self.send_join(coordinator).await?;
        let generation = joined.generation_id;
        let identity = MemberIdentity { generation, member: joined.member_id.clone() };
        self.basis = None;
        let leads = joined.leader == joined.member_id && !joined.skip_assignment;
        let assignments =
            if leads { self.compute_assignments(&joined).await? } else { BTreeMap::new() };
        let request = calls::sync(self.group(), &joined, &assignments)?;
        let limit = self.group().rebalance_timeout.saturating_add(REBALANCE_SLACK);
        let synced = coordinator.ask_within(&request, limit).await?;
        ClientError::check(synced.error_code, "taking over an assignment", None)?;
        let share = calls::read_assignment(&synced.assignment)?;
        let stored = coordinator.ask(&calls::fetch_committed(self.group(), &share)).await?;
        self.committed = committed::read(&stored)?;
        let epochs = committed::read_epochs(&stored);
        self.last_heartbeat = self.shared.now();
        self.backoff.reset();
        let coordinator = coordinator.address().clone();
        self.membership.set_joined(Some(Joined { coordinator, identity }));
        let begin = |partition: TopicPartition| {
            let stored = self.committed.get(&partition).copied();
            let start = stored.map_or(self.shared.config.start, Start::Offset);
            (partition, start)
        };
        let partitions = share.clone();
        self.shared.assign_committed(share.into_iter().map(begin).collect(), &epochs);
        self.brokers().monitor().rebalanced(&Event::Rebalanced {
            group: self.group().id.clone().unwrap_or_default(),
            generation,
            partitions,
        });
        Ok(())
    }

    /// Sends `JoinGroup`, a second time with the assigned id if the coordinator requires one
    /// (KIP-394).
    async fn send_join(
        &mut self,
        coordinator: &Coordinator,
    ) -> Result<JoinGroupResponse, ClientError> {
        let limit = self.group().rebalance_timeout.saturating_add(REBALANCE_SLACK);
        loop {
            let request = calls::join(self.group(), &self.name, &self.topics)?;
            let joined = coordinator.ask_within(&request, limit).await?;
            if joined.error_code == ErrorCode::MemberIdRequired && self.name.is_empty() {
                self.name = joined.member_id;
                continue;
            }
            ClientError::check(joined.error_code, "joining the group", None)?;
            self.name.clone_from(&joined.member_id);
            return Ok(joined);
        }
    }

    /// Computes the assignment of every member.
    async fn compute_assignments(
        &mut self,
        joined: &JoinGroupResponse,
    ) -> Result<BTreeMap<String, PartitionsByTopic>, ClientError> {
        let members = calls::subscriptions(joined)?;
        let counts = self.count_partitions(&members).await?;
        let name = joined.protocol_name.as_deref().unwrap_or_default();
        let strategy: Strategy = name.parse().map_err(|_| {
            let code = ErrorCode::InconsistentGroupProtocol;
            ClientError::from_code(code, &format!("the group chose {name:?}"), None)
        })?;
        let assignments = strategy.assign(&members, &counts);
        self.basis = Some(AssignmentBasis { members, counts });
        Ok(assignments)
    }

    async fn count_partitions(
        &self,
        members: &[Subscriber],
    ) -> Result<BTreeMap<String, usize>, ClientError> {
        let wanted: BTreeSet<&String> = members.iter().flat_map(|member| &member.topics).collect();
        let names: Vec<TopicName> = wanted.iter().filter_map(|topic| topic.parse().ok()).collect();
        self.brokers().refresh(Some(&names), self.shared.config.auto_create_topics).await?;
        let topology = self.brokers().topology();
        let count = |name: &TopicName| {
            let info = topology.topic(name)?;
            Some((name.as_str().to_owned(), info.partitions.len()))
        };
        Ok(names.iter().filter_map(count).collect())
    }

    /// Sends heartbeats and commits offsets until something changes.
    async fn maintain(&mut self, coordinator: &Coordinator) -> Result<Change, ClientError> {
        let GroupConfig { heartbeat_interval, commit_interval, .. } = *self.group();
        let leaving = self.membership.leaving.clone();
        let mut commit_at = self.shared.now().saturating_add(commit_interval);
        // After a reconnect the last heartbeat may be long ago, so the next may be due at once.
        let mut heartbeat_at = self.last_heartbeat.saturating_add(heartbeat_interval);
        let mut check_counts_at = self.shared.now().saturating_add(self.shared.metadata_max_age());
        loop {
            let next = commit_at.min(heartbeat_at).saturating_sub(self.shared.now());
            if leaving.run_until_cancelled(sleep(next)).await.is_none() {
                self.leave(coordinator).await;
                return Ok(Change::Left);
            }
            let now = self.shared.now();
            let mut change = None;
            if now >= heartbeat_at {
                heartbeat_at = now.saturating_add(heartbeat_interval);
                change = changed(self.heartbeat(coordinator).await)?;
            }
            if now >= commit_at && change.is_none() {
                commit_at = now.saturating_add(commit_interval);
                change = changed(self.commit().await)?;
            }
            if change.is_none() && now >= check_counts_at {
                check_counts_at = now.saturating_add(self.shared.metadata_max_age());
                change = self.check_partition_counts().await?;
            }
            if let Some(change) = change {
                return Ok(change);
            }
        }
    }

    /// Checks, if this member is the group's leader, whether topics have grown, and starts a
    /// rebalance if so.
    async fn check_partition_counts(&self) -> Result<Option<Change>, ClientError> {
        let Some(basis) = &self.basis else { return Ok(None) };
        let counts = self.count_partitions(&basis.members).await?;
        Ok((counts != basis.counts).then_some(Change::Rejoin))
    }

    async fn heartbeat(&mut self, coordinator: &Coordinator) -> Result<(), ClientError> {
        let Some(joined) = self.membership.joined() else { return Ok(()) };
        let request = calls::heartbeat(self.group(), &joined.identity);
        let answer = coordinator.ask(&request).await?;
        ClientError::check(answer.error_code, "a heartbeat", None)?;
        self.last_heartbeat = self.shared.now();
        Ok(())
    }

    /// Commits offsets that have changed.
    async fn commit(&mut self) -> Result<(), ClientError> {
        let offsets = match self.group().commit {
            Commit::Manual => return Ok(()),
            Commit::Processed => self.shared.processed(),
            Commit::Received => self.shared.received(),
        };
        let is_new = |(partition, offset): &(TopicPartition, Offset)| {
            self.committed.get(partition) != Some(offset)
        };
        let offsets: Vec<(TopicPartition, Offset)> = offsets.into_iter().filter(is_new).collect();
        match self.membership.commit(&self.shared, &offsets).await {
            Ok(()) => self.committed.extend(offsets),
            // The offsets of a deleted topic are not needed. If the refusal had another cause, the
            // next heartbeat shows it.
            Err(ClientError::TopicNotFound { .. }) => {
                tracing::debug!("offsets of a deleted topic are not committed");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Commits and leaves. If leaving fails, the other members wait for the session timeout.
    async fn leave(&mut self, coordinator: &Coordinator) {
        if let Err(error) = self.commit().await {
            tracing::warn!(%error, "the last offsets were not committed");
        }
        let Some(joined) = self.membership.joined() else { return };
        if let Err(error) = self.send_leave(coordinator, &joined.identity.member).await {
            tracing::debug!(%error, "leaving the group failed; the session will time out");
        }
    }

    /// Leaves a group whose `JoinGroup` response is still pending. This needs a new connection: the
    /// broker answers in order, so requests behind the pending one would wait for the other members
    /// to join.
    async fn cancel_join(&self, coordinator: &Coordinator) -> Result<(), ClientError> {
        if self.name.is_empty() {
            return Ok(());
        }
        self.send_leave(&coordinator.connect_again().await?, &self.name).await
    }

    async fn send_leave(&self, coordinator: &Coordinator, name: &str) -> Result<(), ClientError> {
        if let Some(request) = calls::leave(self.group(), name) {
            coordinator.ask(&request).await?;
        }
        Ok(())
    }

    /// Gives up the assignment: none of its records are returned any more.
    fn give_up_assignment(&self) {
        self.membership.set_joined(None);
        self.shared.assign(Vec::new());
    }

    fn group(&self) -> &GroupConfig {
        self.membership.group()
    }

    fn brokers(&self) -> &Brokers {
        &self.shared.brokers
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.membership.end();
    }
}

/// The change that a response means for a stable member; other errors concern the connection.
fn changed(outcome: Result<(), ClientError>) -> Result<Option<Change>, ClientError> {
    match outcome {
        Ok(()) => Ok(None),
        Err(error) => match error.code() {
            Some(ErrorCode::RebalanceInProgress) => Ok(Some(Change::Rejoin)),
            Some(ErrorCode::IllegalGeneration) => Ok(Some(Change::Lost)),
            Some(ErrorCode::UnknownMemberId) => Ok(Some(Change::Unknown)),
            _ => Err(error),
        },
    }
}
