//! A dedicated connection to a broker, with its number of requests in flight. This is a state
//! machine without I/O: its owner acts on the returned readiness.

use std::time::Duration;

use super::backoff::Backoff;
use super::connection::Connection;

/// The connection state of one broker.
#[derive(Debug)]
pub struct Route {
    state: State,
    backoff: Backoff,
    in_flight: usize,
}

#[derive(Debug)]
enum State {
    /// Not connected; the next attempt is not before this time.
    Down(Duration),
    Connecting,
    Up(Connection),
}

/// The action that is possible now.
#[derive(Debug)]
pub enum Readiness<'a> {
    /// Requests can be sent.
    Ready(&'a Connection),
    /// The owner must connect; the route counts as connecting from now on.
    Connect,
    /// The owner must wait until this time.
    NotBefore(Duration),
    /// The owner must wait until a response or a connection attempt completes.
    Busy,
}

impl Route {
    /// A route that has not connected yet.
    pub fn new(backoff: Backoff) -> Self {
        Self { state: State::Down(Duration::ZERO), backoff, in_flight: 0 }
    }

    /// Returns the possible action at `now`, with at most `in_flight_max` requests in flight.
    pub fn readiness(&mut self, now: Duration, in_flight_max: usize) -> Readiness<'_> {
        let is_lost = matches!(&self.state, State::Up(connection) if !connection.is_open());
        if is_lost {
            self.state = State::Down(now);
        }
        if let State::Down(until) = self.state {
            if now < until {
                return Readiness::NotBefore(until);
            }
            self.state = State::Connecting;
            return Readiness::Connect;
        }
        match &self.state {
            State::Up(connection) if self.in_flight < in_flight_max => Readiness::Ready(connection),
            _ => Readiness::Busy,
        }
    }

    /// Records that the connection was opened.
    pub fn connected(&mut self, connection: Connection) {
        self.backoff.reset();
        self.state = State::Up(connection);
    }

    /// Records that the connection attempt failed.
    pub fn failed(&mut self, now: Duration) {
        self.state = State::Down(now.saturating_add(self.backoff.next_pause()));
    }

    /// Gives up the connection with its requests in flight; the next attempt needs no pause.
    pub fn abandon(&mut self) {
        if matches!(self.state, State::Up(_)) {
            self.state = State::Down(Duration::ZERO);
        }
    }

    /// Records that a request was sent.
    pub fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// Records that a request completed or failed.
    ///
    /// # Panics
    /// If no request is in flight.
    pub fn answered(&mut self) {
        assert!(self.in_flight > 0, "an answer to none of {} requests", self.in_flight);
        self.in_flight -= 1;
    }
}
