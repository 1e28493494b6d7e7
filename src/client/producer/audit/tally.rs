//! What one producer has counted and not told yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::windows::{Windows, start_of};
use crate::client::producer::tickets::Landed;
use crate::client::{ClientError, ProducerConfig};
use crate::types::TopicName;

/// Where counts are told.
pub(crate) const TOPIC: &str = "streamlog.audit";
/// The width of a window, unless told otherwise.
const WINDOW: Duration = Duration::from_mins(10);

/// The audit of a producer. Callers tell, the sending task counts.
#[derive(Debug)]
pub(crate) struct Audit {
    tier: String,
    window: Duration,
    producer: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the next record that is told.
    number: u64,
    counts: BTreeMap<(TopicName, i64), u64>,
}

impl Audit {
    /// That of a producer of this name, if its settings ask for one.
    pub(crate) fn of(config: &ProducerConfig, producer: String) -> Option<Self> {
        let tier = config.audit.clone()?;
        let window = config.audit_window.unwrap_or(WINDOW);
        Some(Self { tier, window, producer, state: Mutex::default() })
    }

    /// The width of the windows in which it counts.
    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    /// A batch of `topic` was delivered.
    pub(crate) fn count(&self, topic: &TopicName, windows: &Windows, landed: &Landed) {
        if topic.as_str() == TOPIC {
            return;
        }
        let mut state = self.state();
        for &(start, count) in windows.counts() {
            // Readers see the time that the log gave them.
            let start = landed.log_append_time.map_or(start, |time| start_of(self.window, time));
            let all = state.counts.entry((topic.clone(), start)).or_default();
            *all = all.saturating_add(u64::from(count));
        }
    }

    /// Whether there is something to tell.
    pub(crate) fn has_counts(&self) -> bool {
        !self.state().counts.is_empty()
    }

    /// Tells counts by `send`, each under a number of its own, until all are told or it takes no
    /// more, which it says by false; what it did not take stays. Whether it took any.
    pub(crate) fn tell(
        &self,
        mut send: impl FnMut(&str) -> Result<bool, ClientError>,
    ) -> Result<bool, ClientError> {
        let mut state = self.state();
        let mut has_told = false;
        while let Some(((topic, start), count)) = state.counts.pop_first() {
            let outcome = send(&self.text(&topic, start, count, state.number));
            if !matches!(outcome, Ok(true)) {
                state.counts.insert((topic, start), count);
                return outcome.map(|_| has_told);
            }
            state.number = state.number.saturating_add(1);
            has_told = true;
        }
        Ok(has_told)
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
