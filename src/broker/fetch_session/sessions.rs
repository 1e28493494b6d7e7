//! All sessions of a broker: who gets one, who keeps it, and whether a request is in step.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::broker::fetch_session::state::State;
use crate::wire::ErrorCode;
use crate::wire::fetch::{FetchRequest, Topic};

/// A request that begins a session.
const BEGIN: i32 = 0;

/// A request that wants none, and ends the one it names.
const NO_SESSION: i32 = -1;

/// In place of a session's id: none.
const NONE: i32 = 0;

/// From this version on topics go by their ids.
const BY_ID: i16 = 13;

/// A session not used for so long gives way to a new one.
const IDLE: Duration = Duration::from_mins(2);

/// Partitions that all sessions may hold together: some tens of megabytes at the worst.
const PARTITIONS_MAX: usize = 100_000;

/// The sessions of one broker.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    table: Mutex<Table>,
    sessions_max: usize,
    partitions_max: usize,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<i32, Session>,
    /// The partitions of all sessions.
    partitions: usize,
}

#[derive(Debug)]
struct Session {
    state: State,
    /// The number that the next request must have.
    epoch: i32,
    by_id: bool,
    is_follower: bool,
    /// On the monotonic clock.
    last_used: Duration,
}

/// One request of one session, or of none.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    sessions: &'a FetchSessions,
    kind: TurnKind,
}

#[derive(Debug)]
enum TurnKind {
    /// Everything was asked for and is answered.
    Sessionless,
    /// So was it, and a session may begin with the answer.
    First { state: State, by_id: bool, is_follower: bool, now: Duration },
    /// The session answers what has changed; the number is the one after this request's.
    Next { id: i32, epoch: i32 },
}

impl FetchSessions {
    /// Room for so many sessions; 0 serves everybody without.
    pub(crate) fn new(sessions_max: usize) -> Self {
        Self { table: Mutex::default(), sessions_max, partitions_max: PARTITIONS_MAX }
    }

    /// Begins a turn, and makes of the request what it would be without a session: all partitions,
    /// in the order in which they are to be served.
    ///
    /// # Errors
    /// With the code for the whole answer when the session is unknown or out of step.
    pub(crate) fn begin(
        &self,
        request: &mut FetchRequest,
        version: i16,
        now: Duration,
    ) -> Result<Turn<'_>, ErrorCode> {
        let (id, epoch) = (request.session_id, request.session_epoch);
        let kind = match epoch {
            NO_SESSION | BEGIN => {
                // Whoever begins anew, or goes without, has done with the old one.
                self.lock().remove(id);
                if epoch == NO_SESSION {
                    TurnKind::Sessionless
                } else {
                    first(request, version, now)
                }
            }
            _ => self.next(request, version, now)?,
        };
        Ok(Turn { sessions: self, kind })
    }

    fn next(
        &self,
        request: &mut FetchRequest,
        version: i16,
        now: Duration,
    ) -> Result<TurnKind, ErrorCode> {
        let (id, epoch) = (request.session_id, request.session_epoch);
        let mut table = self.lock();
        let session = table.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != (version >= BY_ID) {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let before = session.state.len();
        session.state.update(&request.topics);
        session.state.forget(&request.forgotten_topics);
        session.epoch = following(epoch);
        session.last_used = now;
        request.topics = session.state.request();
        let next = TurnKind::Next { id, epoch: session.epoch };
        let after = session.state.len();
        table.partitions = table.partitions - before + after;
        if table.partitions > self.partitions_max && after > before {
            table.remove(id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        if after == 0 {
            table.remove(id);
            return Ok(TurnKind::Sessionless);
        }
        Ok(next)
    }

    /// The id of a new session, or of none when there is no room.
    fn admit(&self, session: Session) -> i32 {
        let mut table = self.lock();
        let needed = session.state.len();
        if needed > self.partitions_max {
            return NONE;
        }
        while table.sessions.len() >= self.sessions_max
            || table.partitions.saturating_add(needed) > self.partitions_max
        {
            let Some(id) = table.victim(&session) else { return NONE };
            table.remove(id);
        }
        let id = table.unused_id();
        table.partitions += needed;
        table.sessions.insert(id, session);
        id
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Every change leaves the table whole, or panics on an invariant that was broken before.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Ends the turn: cuts the answer down to what its reader does not know, and returns the id of
    /// the session to go on with, 0 for none.
    ///
    /// # Errors
    /// With the code for the whole answer when another request has taken the session over.
    pub(crate) fn finish(self, topics: &mut Vec<Topic>) -> Result<i32, ErrorCode> {
        match self.kind {
            TurnKind::Sessionless => Ok(NONE),
            TurnKind::First { mut state, by_id, is_follower, now } => {
                state.tell(topics, false);
                let epoch = following(BEGIN);
                Ok(self.sessions.admit(Session {
                    state,
                    epoch,
                    by_id,
                    is_follower,
                    last_used: now,
                }))
            }
            TurnKind::Next { id, epoch } => {
                let mut table = self.sessions.lock();
                let session =
                    table.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
                if session.epoch != epoch {
                    return Err(ErrorCode::InvalidFetchSessionEpoch);
                }
                session.state.tell(topics, true);
                Ok(id)
            }
        }
    }
}

impl Table {
    fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.partitions -= session.state.len();
        }
    }

    /// Which session gives way to a new one: the one that was idle longest if that is long; for a
    /// follower, whose sessions matter to everybody, also a consumer's.
    fn victim(&self, newcomer: &Session) -> Option<i32> {
        let may_go = |session: &Session| {
            newcomer.last_used.saturating_sub(session.last_used) > IDLE
                || (newcomer.is_follower && !session.is_follower)
        };
        let going = self.sessions.iter().filter(|(_, session)| may_go(session));
        let first =
            |(id, session): &(&i32, &Session)| (session.is_follower, session.last_used, **id);
        going.min_by_key(first).map(|(id, _)| *id)
    }

    /// An id that nobody has and nobody can guess: who names a session may end it.
    fn unused_id(&self) -> i32 {
        loop {
            let [a, b, c, d, ..] = *Uuid::new_v4().as_bytes();
            let id = i32::from_be_bytes([a & 0x7f, b, c, d]);
            if id != NONE && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }
}

fn first(request: &FetchRequest, version: i16, now: Duration) -> TurnKind {
    let mut state = State::default();
    state.update(&request.topics);
    let is_follower = request.replica_id.max(request.replica_state.replica_id) >= 0;
    TurnKind::First { state, by_id: version >= BY_ID, is_follower, now }
}

/// The number of the request after the one with this number; it never begins anew by itself.
fn following(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}
