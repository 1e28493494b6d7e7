//! A member: its identity, assignment, and pending request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::group::ids::shortened;
use crate::group::records::MemberSnapshot;
use crate::group::step::Step;
use crate::group::{Answer, GroupError, InstanceId, JoinRequest, MemberId, Protocol, Ticket};

/// One member of a group.
pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) instance_id: Option<InstanceId>,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    pub(super) session_timeout: Duration,
    pub(super) rebalance_timeout: Duration,
    /// The supported protocols, preferred first.
    pub(super) protocols: Vec<Protocol>,
    /// The leader's assignment in this generation; empty until then.
    pub(super) assignment: Bytes,
    /// The pending request, if any.
    pub(super) parked: Option<Parked>,
    pub(super) liveness: Liveness,
    /// True until the member sends `SyncGroup` in this generation.
    pub(super) sync_due: bool,
}

/// A request whose response is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    /// Waits for the rebalance to complete.
    Join(Ticket),
    /// Waits for the assignment to be replicated.
    Sync(Ticket),
}

/// The conditions under which a member expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    /// The member expires at this time, unless a request arrives before.
    Session(Duration),
    /// The member expires at this time: its first join is pending and it cannot send heartbeats
    /// yet. Without a limit, a client that disconnects and retries would leave a trail of dead
    /// members.
    Newcomer(Duration),
    /// The member does not expire while a response to it is pending.
    Owed,
}

/// The maximum time that a newcomer's first join may be pending.
const NEWCOMER_TIMEOUT: Duration = Duration::from_mins(5);

impl Member {
    /// Creates a member whose first join is pending.
    pub(super) fn newcomer(
        id: MemberId,
        request: JoinRequest,
        ticket: Ticket,
        step: &Step,
    ) -> Self {
        Self {
            id,
            client_id: shortened(&request.client_id).into(),
            client_host: shortened(&request.client_host).into(),
            session_timeout: request.session_timeout,
            rebalance_timeout: request.rebalance_timeout,
            protocols: owned(request.protocols),
            instance_id: request.instance_id,
            assignment: Bytes::new(),
            parked: Some(Parked::Join(ticket)),
            liveness: Liveness::Newcomer(step.after(NEWCOMER_TIMEOUT)),
            sync_due: false,
        }
    }

    /// Restores a member from the log; its session starts once the log has been loaded.
    pub(super) fn restored(snapshot: MemberSnapshot, protocol: Option<&Arc<str>>) -> Self {
        let name = protocol.cloned().unwrap_or_default();
        Self {
            id: snapshot.id,
            instance_id: snapshot.instance_id,
            client_id: snapshot.client_id,
            client_host: snapshot.client_host,
            session_timeout: snapshot.session_timeout,
            rebalance_timeout: snapshot.rebalance_timeout,
            protocols: vec![Protocol { name, metadata: snapshot.subscription }],
            assignment: snapshot.assignment,
            parked: None,
            liveness: Liveness::Owed,
            sync_due: false,
        }
    }

    /// Updates the member from a repeated join.
    pub(super) fn update(&mut self, request: JoinRequest) {
        self.client_id = shortened(&request.client_id).into();
        self.client_host = shortened(&request.client_host).into();
        self.session_timeout = request.session_timeout;
        self.rebalance_timeout = request.rebalance_timeout;
        self.protocols = owned(request.protocols);
    }

    /// Makes a request pending. If another one is pending, the same client has abandoned it; it is
    /// answered with the error to rejoin.
    pub(super) fn park(&mut self, parked: Parked, step: &mut Step) {
        self.dismiss(&GroupError::RebalanceInProgress, step);
        self.parked = Some(parked);
        if !matches!(self.liveness, Liveness::Newcomer(_)) {
            self.liveness = Liveness::Owed;
        }
    }

    /// Answers the pending request, if any, with an error.
    pub(super) fn dismiss(&mut self, error: &GroupError, step: &mut Step) {
        match self.parked.take() {
            Some(Parked::Join(ticket)) => step.answer(ticket, Answer::Join(Err(error.clone()))),
            Some(Parked::Sync(ticket)) => step.answer(ticket, Answer::Sync(Err(error.clone()))),
            None => {}
        }
    }

    /// Takes the ticket of the pending join in order to answer it.
    pub(super) fn take_join(&mut self) -> Option<Ticket> {
        match self.parked {
            Some(Parked::Join(ticket)) => {
                self.parked = None;
                Some(ticket)
            }
            _ => None,
        }
    }

    /// Takes the ticket of the pending sync in order to answer it.
    pub(super) fn take_sync(&mut self) -> Option<Ticket> {
        match self.parked {
            Some(Parked::Sync(ticket)) => {
                self.parked = None;
                Some(ticket)
            }
            _ => None,
        }
    }

    pub(super) fn awaits_join(&self) -> bool {
        matches!(self.parked, Some(Parked::Join(_)))
    }

    /// Restarts the session: the member has been answered and must send the next request.
    pub(super) fn restart_session(&mut self, step: &Step) {
        self.liveness = Liveness::Session(step.after(self.session_timeout));
    }

    /// Notes a request of the member, which extends its session.
    pub(super) fn extend_session(&mut self, step: &Step) {
        if let Liveness::Session(_) = self.liveness {
            self.restart_session(step);
        }
    }

    /// The time at which the member expires.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.liveness {
            Liveness::Session(deadline) | Liveness::Newcomer(deadline) => Some(deadline),
            Liveness::Owed => None,
        }
    }

    /// The member's metadata for `protocol`.
    pub(super) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|own| *own.name == *protocol).map(|own| &own.metadata)
    }

    /// The number of bytes of the member's protocols and assignment.
    pub(super) fn bytes(&self) -> usize {
        protocol_bytes(&self.protocols) + self.assignment.len()
    }

    pub(super) fn snapshot(&self, protocol: &str, assignment: Bytes) -> MemberSnapshot {
        MemberSnapshot {
            id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
            rebalance_timeout: self.rebalance_timeout,
            session_timeout: self.session_timeout,
            subscription: self.metadata(protocol).cloned().unwrap_or_default(),
            assignment,
        }
    }
}

/// The number of bytes of a member's protocols.
pub(super) fn protocol_bytes(protocols: &[Protocol]) -> usize {
    protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len()).sum()
}

/// Copies the metadata: the request's bytes are a slice of a possibly large frame, which would stay
/// in memory as long as the member.
fn owned(mut protocols: Vec<Protocol>) -> Vec<Protocol> {
    for protocol in &mut protocols {
        protocol.metadata = Bytes::copy_from_slice(&protocol.metadata);
    }
    protocols
}
