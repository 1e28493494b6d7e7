//! A producer's counts that are not published yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::windows::{Windows, start_of};
use crate::client::producer::delivery::BatchAck;
use crate::client::{ClientError, ProducerConfig};
use crate::types::TopicName;

/// The topic to which counts are published.
pub(crate) const TOPIC: &str = "streamlog.audit";
/// The default width of a window.
const WINDOW: Duration = Duration::from_mins(10);

/// The audit of a producer. The sending task counts; the counts are published by the sending task
/// and by callers that flush.
#[derive(Debug)]
pub(crate) struct Audit {
    tier: String,
    window: Duration,
    producer: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the next audit record.
    number: u64,
    counts: BTreeMap<(TopicName, i64), u64>,
}

impl Audit {
    /// Creates the audit of the producer with this name, if its settings enable it.
    pub(crate) fn of(config: &ProducerConfig, producer: String) -> Option<Self> {
        let tier = config.audit.clone()?;
        let window = config.audit_window.unwrap_or(WINDOW);
        Some(Self { tier, window, producer, state: Mutex::default() })
    }

    /// The width of a window.
    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    /// Counts a delivered batch of `topic`.
    pub(crate) fn count(&self, topic: &TopicName, windows: &Windows, ack: &BatchAck) {
        if topic.as_str() == TOPIC {
            return;
        }
        let mut state = self.state();
        for &(start, count) in windows.counts() {
            // Count by the broker's timestamp, since consumers see that.
            let start = ack.log_append_time.map_or(start, |time| start_of(self.window, time));
            let all = state.counts.entry((topic.clone(), start)).or_default();
            *all = all.saturating_add(u64::from(count));
        }
    }

    /// Returns true if there are unpublished counts.
    pub(crate) fn has_counts(&self) -> bool {
        !self.state().counts.is_empty()
    }

    /// Publishes counts by `send`, each with its own number, until none are left, or `send` returns
    /// false or fails; a count that was not accepted is kept. Returns true if any was accepted.
    pub(crate) fn publish(
        &self,
        mut send: impl FnMut(&str) -> Result<bool, ClientError>,
    ) -> Result<bool, ClientError> {
        let mut state = self.state();
        let mut has_published = false;
        while let Some(((topic, start), count)) = state.counts.pop_first() {
            let outcome = send(&self.text(&topic, start, count, state.number));
            if !matches!(outcome, Ok(true)) {
                state.counts.insert((topic, start), count);
                return outcome.map(|_| has_published);
            }
            state.number = state.number.saturating_add(1);
            has_published = true;
        }
        Ok(has_published)
    }

    /// The producer's name.
    pub(crate) fn producer(&self) -> &str {
        &self.producer
    }

    fn text(&self, topic: &TopicName, start: i64, count: u64, number: u64) -> String {
        let window = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        json!({
            "tier": self.tier,
            "producer": self.producer,
            "number": number,
            "topic": topic.as_str(),
            "from_ms": start,
            "window_ms": window,
            "count": count,
        })
        .to_string()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
