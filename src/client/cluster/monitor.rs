//! The state of all connections of a client: whether any broker can be reached, and metrics.
//!
//! All brokers count as lost when the last connection broke and then none of them was reached. Each
//! outage is logged and reported once, and so is its end. A connection that the client itself
//! closes, or that a broker closes for idleness, is not an outage.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::client::{Attempt, ClientStats, Event};
use crate::config::HostPort;
use crate::io::Clock;
use crate::link::{LinkError, LinkFault, Observer};

/// A listener called with each event on the client's thread; it must not block.
type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// The connection state of a client.
pub(crate) struct Monitor {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    listeners: Mutex<Vec<Listener>>,
    /// Notified when the last connection breaks.
    broken: Notify,
    requests: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    throttled: AtomicU64,
    rebalances: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    connects: u64,
    losses: u64,
    lost_at: Option<Duration>,
    /// The address and the reason of the last connection that was refused since the last one broke.
    last_refused: Option<(String, String)>,
}

impl Monitor {
    /// A monitor without connections.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            listeners: Mutex::default(),
            broken: Notify::new(),
            requests: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            rebalances: AtomicU64::new(0),
        }
    }

    /// Adds a listener; it is called until [`silence`](Self::silence).
    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners().push(listener);
    }

    /// Drops all listeners.
    pub(crate) fn silence(&self) {
        let listeners = std::mem::take(&mut *self.listeners());
        // Drop the listeners after releasing the lock: dropping one may run arbitrary code.
        drop(listeners);
    }

    /// Records the throttle time of a response in milliseconds; 0 is none.
    pub(crate) fn throttled(&self, address: &HostPort, delay_ms: i32) {
        let Some(delay_ms) = u64::try_from(delay_ms).ok().filter(|delay_ms| *delay_ms > 0) else {
            return;
        };
        self.throttled.fetch_add(1, Ordering::Relaxed);
        let delay = Duration::from_millis(delay_ms);
        self.tell(&Event::Throttled { address: address.to_string(), delay });
    }

    /// Records a rebalance of a consumer.
    pub(crate) fn rebalanced(&self, event: &Event) {
        self.rebalances.fetch_add(1, Ordering::Relaxed);
        self.tell(event);
    }

    /// Waits until the last connection breaks.
    pub(crate) async fn broken(&self) {
        self.broken.notified().await;
    }

    /// Reports an outage, once: these attempts to reach all known brokers failed.
    pub(crate) fn lost(&self, tried: &[Attempt]) {
        let Some(last) = tried.last() else { return };
        let mut state = self.state();
        if state.open > 0 || state.connects == 0 || state.lost_at.is_some() {
            return;
        }
        // Brokers that keep silent refuse nothing.
        let silent = || (last.address.clone(), last.reason.clone());
        let (address, reason) = state.last_refused.take().unwrap_or_else(silent);
        state.losses += 1;
        state.lost_at = Some(self.clock.monotonic());
        drop(state);
        tracing::warn!("lost all brokers; the last tried is {address}: {reason}");
        self.tell(&Event::Lost { address, reason });
    }

    /// Returns true while no connection is open.
    pub(crate) fn is_down(&self) -> bool {
        self.state().open == 0
    }

    /// The metrics.
    pub(crate) fn stats(&self) -> ClientStats {
        let state = self.state();
        ClientStats {
            connections: state.open,
            is_lost: state.lost_at.is_some(),
            connects: state.connects,
            losses: state.losses,
            requests: self.requests.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            throttled: self.throttled.load(Ordering::Relaxed),
            rebalances: self.rebalances.load(Ordering::Relaxed),
        }
    }

    fn tell(&self, event: &Event) {
        // Called without the lock, since a listener may add or remove listeners.
        let listeners = self.listeners().clone();
        for listener in listeners {
            listener(event);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Monitor {
    fn opened(&self, address: &HostPort) {
        let mut state = self.state();
        state.open += 1;
        state.connects += 1;
        let Some(lost_at) = state.lost_at.take() else { return };
        drop(state);
        let (address, outage) =
            (address.to_string(), self.clock.monotonic().saturating_sub(lost_at));
        tracing::info!("reconnected to a broker at {address} after {outage:.1?} without any");
        self.tell(&Event::Connected { address, outage });
    }

    fn refused(&self, error: &LinkError) {
        let refused = (error.address.to_string(), error.fault.to_string());
        self.state().last_refused = Some(refused);
    }

    fn ended(&self, reason: &LinkError) {
        let mut state = self.state();
        state.open = state.open.saturating_sub(1);
        let is_broken = state.open == 0 && !matches!(reason.fault, LinkFault::Closed);
        state.last_refused.take_if(|_| is_broken);
        drop(state);
        if is_broken {
            self.broken.notify_one();
        }
    }

    fn sent(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn received(&self, bytes: usize) {
        self.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    #[test]
    fn an_outage_is_reported_once_and_so_is_its_end() {
        let clock = Arc::new(ManualClock::default());
        let monitor = Monitor::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        monitor.listen(Arc::new(move |event| seen.lock().unwrap().push(event.clone())));
        let (one, other) = (HostPort::new("one", 1), HostPort::new("other", 2));
        let broken = LinkFault::ClosedByPeer.of(&one);
        let silent = Attempt::answered_not("one:1", "silence");
        let tried = [silent];

        monitor.lost(&tried);
        monitor.opened(&one);
        monitor.opened(&other);
        monitor.ended(&broken);
        monitor.lost(&tried);
        assert_eq!(*events.lock().unwrap(), [], "another broker is there");

        monitor.refused(&broken);
        monitor.ended(&broken);
        monitor.refused(&LinkFault::ConnectTimeout.of(&other));
        assert_eq!(*events.lock().unwrap(), [], "others may answer");
        monitor.lost(&tried);
        monitor.lost(&tried);
        clock.advance(Duration::from_secs(3));
        monitor.opened(&one);
        monitor.ended(&LinkFault::Closed.of(&one));
        monitor.opened(&one);
        let lost = Event::Lost { address: "other:2".into(), reason: "no answer".into() };
        let outage = Duration::from_secs(3);
        let back = Event::Connected { address: "one:1".into(), outage };
        assert_eq!(*events.lock().unwrap(), [lost, back]);
        let stats = monitor.stats();
        assert_eq!((stats.connections, stats.connects, stats.losses), (1, 4, 1));
        assert!(!stats.is_lost);

        monitor.ended(&broken);
        monitor.lost(&tried);
        let lost = Event::Lost { address: "one:1".into(), reason: "silence".into() };
        assert_eq!(events.lock().unwrap().last(), Some(&lost));
    }
}
