//! A member: who it is, what it holds, and what it waits for.

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
    /// Best first.
    pub(super) protocols: Vec<Protocol>,
    /// As its leader wrote it in this generation; empty until then.
    pub(super) assignment: Bytes,
    /// The request it waits for, if any.
    pub(super) parked: Option<Parked>,
    pub(super) liveness: Liveness,
    /// Whether it has yet to ask for its assignment in this generation.
    pub(super) sync_due: bool,
}

/// A request whose answer has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    /// Until the rebalance is complete.
    Join(Ticket),
    /// Until the assignment is replicated.
    Sync(Ticket),
}

/// When a member is taken for dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    /// At this moment, unless it is heard before.
    Session(Duration),
    /// At this moment: its first join waits, and until that is answered it cannot be heard. Without
    /// a limit, a client that hangs up and tries again would leave a trail of dead members.
    Newcomer(Duration),
    /// Not while the coordinator owes it an answer.
    Owed,
}

/// How long a newcomer's first join may wait.
const NEWCOMER_TIMEOUT: Duration = Duration::from_mins(5);

impl Member {
    /// A newcomer whose join waits.
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

    /// A member from the log; its session starts when the log has been read.
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

    /// Takes over what a repeated join says of the member.
    pub(super) fn update(&mut self, request: JoinRequest) {
        self.client_id = shortened(&request.client_id).into();
        self.client_host = shortened(&request.client_host).into();
        self.session_timeout = request.session_timeout;
        self.rebalance_timeout = request.rebalance_timeout;
        self.protocols = owned(request.protocols);
    }

    /// Lets a request wait. One that already waits is the same client's, which has given it up: it
    /// is told to join again.
    pub(super) fn park(&mut self, parked: Parked, step: &mut Step) {
        self.dismiss(&GroupError::RebalanceInProgress, step);
        self.parked = Some(parked);
        if !matches!(self.liveness, Liveness::Newcomer(_)) {
            self.liveness = Liveness::Owed;
        }
    }

    /// Answers the waiting request, if any, with an error.
    pub(super) fn dismiss(&mut self, error: &GroupError, step: &mut Step) {
        match self.parked.take() {
            Some(Parked::Join(ticket)) => step.answer(ticket, Answer::Join(Err(error.clone()))),
            Some(Parked::Sync(ticket)) => step.answer(ticket, Answer::Sync(Err(error.clone()))),
            None => {}
        }
    }

    /// The ticket of the waiting join, which its answer takes away.
    pub(super) fn take_join(&mut self) -> Option<Ticket> {
        match self.parked {
            Some(Parked::Join(ticket)) => {
                self.parked = None;
                Some(ticket)
            }
            _ => None,
        }
    }

    /// The ticket of the waiting sync, which its answer takes away.
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

    /// Starts the session anew: the member was answered, so it is its turn.
    pub(super) fn restart_session(&mut self, step: &Step) {
        self.liveness = Liveness::Session(step.after(self.session_timeout));
    }

    /// The member was heard.
    pub(super) fn heard(&mut self, step: &Step) {
        if let Liveness::Session(_) = self.liveness {
            self.restart_session(step);
        }
    }

    /// When the member is dead unless something happens.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match self.liveness {
            Liveness::Session(deadline) | Liveness::Newcomer(deadline) => Some(deadline),
            Liveness::Owed => None,
        }
    }

    /// What it says for `protocol`.
    pub(super) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|own| *own.name == *protocol).map(|own| &own.metadata)
    }

    /// Bytes it holds by what it was told and what it told.
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

/// Bytes of a member's protocols.
pub(super) fn protocol_bytes(protocols: &[Protocol]) -> usize {
    protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len()).sum()
}

/// Copies, because the request's bytes may be a small part of a large frame that must not live as
/// long as the member.
fn owned(mut protocols: Vec<Protocol>) -> Vec<Protocol> {
    for protocol in &mut protocols {
        protocol.metadata = Bytes::copy_from_slice(&protocol.metadata);
    }
    protocols
}
