//! A producer's or consumer's own way to one broker: its connection, and how much is under way on
//! it. A state machine: whoever owns it does what its footing says.

use std::time::Duration;

use crate::client::cluster::{Backoff, Connection};

/// One broker.
#[derive(Debug)]
pub(crate) struct Route {
    state: State,
    backoff: Backoff,
    in_flight: usize,
}

#[derive(Debug)]
enum State {
    /// Not connected, and not to be before this time.
    Down(Duration),
    Connecting,
    Up(Connection),
}

/// What can be done now.
#[derive(Debug)]
pub(crate) enum Footing<'a> {
    /// Requests can go out.
    Ready(&'a Connection),
    /// A connection is to be made; it is taken to be under way from now on.
    Connect,
    /// Nothing before this time.
    NotBefore(Duration),
    /// Nothing until something comes back.
    Busy,
}

impl Route {
    /// A broker nobody has connected to.
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { state: State::Down(Duration::ZERO), backoff, in_flight: 0 }
    }

    /// What can be done `now`, with at most `in_flight_max` requests unanswered.
    pub(crate) fn footing(&mut self, now: Duration, in_flight_max: usize) -> Footing<'_> {
        let is_lost = matches!(&self.state, State::Up(connection) if !connection.is_open());
        if is_lost {
            self.state = State::Down(now);
        }
        if let State::Down(until) = self.state {
            if now < until {
                return Footing::NotBefore(until);
            }
            self.state = State::Connecting;
            return Footing::Connect;
        }
        match &self.state {
            State::Up(connection) if self.in_flight < in_flight_max => Footing::Ready(connection),
            _ => Footing::Busy,
        }
    }

    /// The connection was made.
    pub(crate) fn connected(&mut self, connection: Connection) {
        self.backoff.reset();
        self.state = State::Up(connection);
    }

    /// The connection could not be made.
    pub(crate) fn failed(&mut self, now: Duration) {
        self.state = State::Down(now.saturating_add(self.backoff.next_pause()));
    }

    /// Gives up the connection and what is under way on it, to begin anew at once.
    pub(crate) fn abandon(&mut self) {
        if matches!(self.state, State::Up(_)) {
            self.state = State::Down(Duration::ZERO);
        }
    }

    /// A request went out.
    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// A request is over.
    pub(crate) fn answered(&mut self) {
        assert!(self.in_flight > 0, "an answer to none of {} requests", self.in_flight);
        self.in_flight -= 1;
    }
}
