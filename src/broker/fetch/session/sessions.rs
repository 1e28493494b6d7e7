//! The sessions of a broker: admission, eviction, and checks of session epochs.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::broker::fetch::session::interests::{Interests, named};
use crate::broker::fetch::session::state::State;
use crate::replication::{Partition, ReadyList};
use crate::types::{BrokerId, Offset, PartitionKey};
use crate::wire::ErrorCode;
use crate::wire::fetch::{FetchRequest, RequestTopic, Topic};

/// The epoch of a request that creates a session.
const BEGIN: i32 = 0;

/// The epoch of a request that wants no session, and ends the given session.
const NO_SESSION: i32 = -1;

/// The session id that stands for no session.
const NONE: i32 = 0;

/// The first version that identifies topics by id.
const BY_ID: i16 = 13;

/// The idle time after which a session may be evicted.
const IDLE: Duration = Duration::from_mins(2);

/// The maximum number of partitions of all sessions together: some tens of megabytes at worst.
const PARTITIONS_MAX: usize = 100_000;

/// The fetch sessions of one broker.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    table: Mutex<Table>,
    sessions_max: usize,
    partitions_max: usize,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<i32, Session>,
    /// The number of partitions of all sessions.
    partitions: usize,
}

#[derive(Debug)]
struct Session {
    state: State,
    /// The epoch that the next request must have.
    epoch: i32,
    by_id: bool,
    /// `None` for a consumer.
    follower: Option<Follower>,
    /// The time of the last request, on the monotonic clock.
    last_used: Duration,
    /// The time at which the last answer was about to be sent.
    answered: Duration,
}

/// A broker that follows in a session.
#[derive(Clone, Debug)]
struct Follower {
    broker: BrokerId,
    interests: Arc<Interests>,
}

/// One request from its start to its response, with or without a session.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    sessions: &'a FetchSessions,
    kind: ExchangeKind,
    /// The broker that follows; `None` for a consumer.
    follower: Option<Follower>,
    /// The partitions whose positions a follower states; `None` if those are all.
    named: Option<BTreeSet<PartitionKey>>,
}

#[derive(Debug)]
enum ExchangeKind {
    /// A full request with a full response.
    Sessionless,
    /// A full request whose full response may create a session.
    First { state: State, by_id: bool, now: Duration },
    /// An incremental request; `epoch` is the epoch of the session after this request.
    Next { id: i32, epoch: i32, follows: Duration },
}

impl FetchSessions {
    /// Creates a table for this many sessions; 0 disables sessions.
    pub(crate) fn new(sessions_max: usize) -> Self {
        Self { table: Mutex::default(), sessions_max, partitions_max: PARTITIONS_MAX }
    }

    /// Begins a request, and expands it to the request it stands for, in the order in which its
    /// partitions are to be served: all of the session, or for a partial request of a follower,
    /// those that it names and those in which something has happened.
    ///
    /// # Errors
    /// The error code of the whole response, if the session is unknown or its epoch does not match.
    pub(crate) fn begin(
        &self,
        request: &mut FetchRequest,
        version: i16,
        now: Duration,
    ) -> Result<Exchange<'_>, ErrorCode> {
        let (id, epoch) = (request.session_id, request.session_epoch);
        if epoch != NO_SESSION && epoch != BEGIN {
            let exchange = self.next(request, version, now)?;
            // Without the lock of the table: this ends registrations with partitions.
            if let Some(follower) = &exchange.follower {
                follower.interests.forget(&request.forgotten_topics);
            }
            return Ok(exchange);
        }
        // A client that starts over, or continues without a session, no longer needs the old
        // session.
        let _ended = self.lock().remove(id);
        if epoch == NO_SESSION {
            return Ok(self.sessionless());
        }
        let mut state = State::default();
        state.update(&request.topics);
        let follower =
            request.follower().map(|broker| Follower { broker, interests: Arc::default() });
        let kind = ExchangeKind::First { state, by_id: version >= BY_ID, now };
        Ok(Exchange { sessions: self, kind, follower, named: None })
    }

    fn sessionless(&self) -> Exchange<'_> {
        Exchange { sessions: self, kind: ExchangeKind::Sessionless, follower: None, named: None }
    }

    fn next(
        &self,
        request: &mut FetchRequest,
        version: i16,
        now: Duration,
    ) -> Result<Exchange<'_>, ErrorCode> {
        let (id, epoch) = (request.session_id, request.session_epoch);
        // Declared before the lock, so that the session is dropped after it.
        let _ended;
        let mut table = self.lock();
        let session = table.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.follower.as_ref().map(|follower| follower.broker) != request.follower() {
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != (version >= BY_ID) {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let before = session.state.len();
        session.state.update(&request.topics);
        session.state.forget(&request.forgotten_topics);
        let follower = session.follower.clone();
        let is_partial = follower.is_some() && request.is_partial;
        let named = is_partial.then(|| named(&request.topics));
        session.epoch = following(epoch);
        session.last_used = now;
        request.topics = session.request(named.as_ref());
        let kind = ExchangeKind::Next { id, epoch: session.epoch, follows: session.answered };
        let after = session.state.len();
        table.partitions = table.partitions - before + after;
        if table.partitions > self.partitions_max && after > before {
            _ended = table.remove(id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        if after == 0 {
            _ended = table.remove(id);
            return Ok(self.sessionless());
        }
        Ok(Exchange { sessions: self, kind, follower, named })
    }

    /// Adds a session and returns its id, or `NONE` if there is no space.
    fn admit(&self, session: Session) -> i32 {
        // Declared before the lock, so that the sessions are dropped after it.
        let mut ended = Vec::new();
        let mut table = self.lock();
        // A follower has one session: that of a request which it has given up is unknown to it.
        let earlier = session.follower.as_ref().and_then(|it| table.session_of(it.broker));
        if let Some(id) = earlier {
            let is_later = |it: &Session| it.last_used > session.last_used;
            if table.sessions.get(&id).is_some_and(is_later) {
                return NONE;
            }
            ended.extend(table.remove(id));
        }
        let needed = session.state.len();
        if needed > self.partitions_max {
            return NONE;
        }
        while table.sessions.len() >= self.sessions_max
            || table.partitions.saturating_add(needed) > self.partitions_max
        {
            let Some(id) = table.eviction_candidate(&session) else { return NONE };
            ended.extend(table.remove(id));
        }
        let id = table.unused_id();
        table.partitions += needed;
        table.sessions.insert(id, session);
        id
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Every change leaves the table consistent, or panics on an invariant that was already
        // broken.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange<'_> {
    /// The time at which the previous answer of the session was sent. The client has received that
    /// answer, since it knows the epoch of the next request. `None` for a request that may follow
    /// no answer.
    pub(crate) fn follows(&self) -> Option<Duration> {
        match self.kind {
            ExchangeKind::Sessionless | ExchangeKind::First { .. } => None,
            ExchangeKind::Next { follows, .. } => Some(follows),
        }
    }

    /// The list of what happens in the partitions of a follower's session.
    pub(crate) fn ready(&self) -> Option<&Arc<ReadyList>> {
        self.follower.as_ref().map(|follower| &follower.interests.ready)
    }

    /// Returns true if the request states the position of a partition.
    pub(crate) fn states_position(&self, key: &PartitionKey) -> bool {
        self.named.as_ref().is_none_or(|named| named.contains(key))
    }

    /// Begins to note what happens in a partition if its position was counted, else ends it.
    pub(crate) fn set_interest(&self, key: PartitionKey, counted: Option<&Arc<Partition>>) {
        let Some(Follower { interests, .. }) = &self.follower else { return };
        match counted {
            Some(partition) => interests.begin(key, partition),
            None => interests.end(&key),
        }
    }

    /// A partition whose position was counted earlier in the session, with the log start offset
    /// that was answered last.
    pub(crate) fn counted_before(&self, key: &PartitionKey) -> Option<(Arc<Partition>, Offset)> {
        self.follower.as_ref()?.interests.partition(key)
    }

    /// Notes the log start offset that is about to be answered for a partition, and whether it has
    /// records that are left for the next fetch.
    pub(crate) fn note_answer(&self, key: PartitionKey, log_start: Offset, is_left: bool) {
        let Some(Follower { interests, .. }) = &self.follower else { return };
        interests.note_log_start(&key, log_start);
        if is_left {
            interests.ready.add(key);
        }
    }

    /// Takes the partitions of the session in which something has happened, as the session would
    /// ask for them.
    pub(crate) fn take_ready(&self) -> Vec<RequestTopic> {
        let Some(ready) = self.ready().map(|ready| ready.take()) else { return Vec::new() };
        match &self.kind {
            ExchangeKind::Sessionless => Vec::new(),
            ExchangeKind::First { state, .. } => state.request_for(&ready),
            ExchangeKind::Next { id, .. } => {
                let table = self.sessions.lock();
                table.sessions.get(id).map_or_else(Vec::new, |it| it.state.request_for(&ready))
            }
        }
    }

    /// Ends a request at `now`, before it is answered: reduces the response to changes, and returns
    /// the session id for the response, 0 for none.
    ///
    /// # Errors
    /// The error code of the whole response, if a later request of the session has begun, or the
    /// session was removed.
    pub(crate) fn finish(self, topics: &mut Vec<Topic>, now: Duration) -> Result<i32, ErrorCode> {
        match self.kind {
            ExchangeKind::Sessionless => Ok(NONE),
            ExchangeKind::First { mut state, by_id, now: last_used } => {
                let follower = self.follower;
                state.record_response(topics, false);
                let epoch = following(BEGIN);
                Ok(self.sessions.admit(Session {
                    state,
                    epoch,
                    by_id,
                    follower,
                    last_used,
                    answered: now,
                }))
            }
            ExchangeKind::Next { id, epoch, .. } => {
                let mut table = self.sessions.lock();
                let session =
                    table.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
                if session.epoch != epoch {
                    return Err(ErrorCode::InvalidFetchSessionEpoch);
                }
                session.state.record_response(topics, true);
                session.answered = now;
                Ok(id)
            }
        }
    }
}

impl Session {
    fn is_follower(&self) -> bool {
        self.follower.is_some()
    }

    /// The request that this one stands for. What has happened until now is looked at by it.
    fn request(&self, named: Option<&BTreeSet<PartitionKey>>) -> Vec<RequestTopic> {
        let ready = self.follower.as_ref().map(|follower| follower.interests.ready.take());
        match (named, ready) {
            (Some(named), Some(ready)) => self.state.request_for(&(named | &ready)),
            _ => self.state.request(),
        }
    }
}

impl Table {
    /// Removes a session. The caller drops it outside the lock: a follower's has registrations with
    /// all its partitions.
    fn remove(&mut self, id: i32) -> Option<Session> {
        let session = self.sessions.remove(&id)?;
        self.partitions -= session.state.len();
        Some(session)
    }

    /// The session of a follower.
    fn session_of(&self, broker: BrokerId) -> Option<i32> {
        let is_its =
            |session: &Session| session.follower.as_ref().is_some_and(|it| it.broker == broker);
        self.sessions.iter().find(|(_, session)| is_its(session)).map(|(id, _)| *id)
    }

    /// The session to evict for a new one: consumers' sessions first, then the longest idle. A
    /// session may be evicted after `IDLE`. A follower, since replication depends on it, may evict
    /// a consumer's session at any time.
    fn eviction_candidate(&self, newcomer: &Session) -> Option<i32> {
        let may_go = |session: &Session| {
            newcomer.last_used.saturating_sub(session.last_used) > IDLE
                || (newcomer.is_follower() && !session.is_follower())
        };
        let going = self.sessions.iter().filter(|(_, session)| may_go(session));
        let first =
            |(id, session): &(&i32, &Session)| (session.is_follower(), session.last_used, **id);
        going.min_by_key(first).map(|(id, _)| *id)
    }

    /// A random unused id: a client that guesses an id could end the session.
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

/// The epoch after this one; it skips 0, which would create a session.
fn following(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}
