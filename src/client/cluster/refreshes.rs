//! The schedule of metadata requests: which topics to ask about, and when. This is a state machine
//! without I/O: its owner sends the requests.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::types::TopicName;

/// The metadata requests of one producer or consumer, at most one at a time.
#[derive(Debug)]
pub(crate) struct Refreshes {
    /// Topics whose metadata proved wrong or missing.
    stale: BTreeSet<TopicName>,
    is_pending: bool,
    /// The end of the pause after the last request.
    not_before: Duration,
    /// The time at which the metadata of all topics is requested again.
    all_at: Duration,
    max_age: Duration,
}

/// The next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Request metadata of these topics; the request is pending until [`Refreshes::done`].
    Request(Vec<TopicName>),
    /// Wait until this time.
    NotBefore(Duration),
    /// Wait for the pending request.
    Pending,
}

impl Refreshes {
    /// A schedule for metadata that is current at `now`, and too old after `max_age`.
    pub(crate) fn new(now: Duration, max_age: Duration) -> Self {
        let all_at = now.saturating_add(max_age);
        let (stale, not_before) = (BTreeSet::new(), Duration::ZERO);
        Self { stale, is_pending: false, not_before, all_at, max_age }
    }

    /// Marks the metadata of a topic as wrong or missing.
    pub(crate) fn mark(&mut self, topic: &TopicName) {
        if !self.stale.contains(topic) {
            self.stale.insert(topic.clone());
        }
    }

    /// Marks the metadata of several topics.
    pub(crate) fn mark_all(&mut self, topics: impl IntoIterator<Item = TopicName>) {
        self.stale.extend(topics);
    }

    /// Returns the next step; `all` returns the topics to ask about when the metadata is too old.
    pub(crate) fn next<T>(&mut self, now: Duration, all: impl FnOnce() -> T) -> Refresh
    where
        T: IntoIterator<Item = TopicName>,
    {
        if self.is_pending {
            return Refresh::Pending;
        }
        if now >= self.all_at {
            self.mark_all(all());
        }
        if self.stale.is_empty() {
            return Refresh::NotBefore(self.all_at);
        }
        if now < self.not_before {
            return Refresh::NotBefore(self.not_before);
        }
        self.is_pending = true;
        Refresh::Request(std::mem::take(&mut self.stale).into_iter().collect())
    }

    /// Records that the request was answered or failed. Another one follows no sooner than after
    /// `pause`.
    pub(crate) fn done(&mut self, now: Duration, pause: Duration) {
        self.is_pending = false;
        self.all_at = now.saturating_add(self.max_age);
        self.not_before = now.saturating_add(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const AGE: Duration = Duration::from_secs(100);

    fn topic(name: &str) -> TopicName {
        name.parse().unwrap()
    }

    #[test]
    fn stale_topics_are_asked_about_together_and_one_request_at_a_time() {
        let mut refreshes = Refreshes::new(Duration::ZERO, AGE);
        assert_eq!(refreshes.next(SECOND, Vec::new), Refresh::NotBefore(AGE));
        refreshes.mark(&topic("b"));
        refreshes.mark_all([topic("a"), topic("b")]);
        let both = Refresh::Request(vec![topic("a"), topic("b")]);
        assert_eq!(refreshes.next(SECOND, Vec::new), both);
        refreshes.mark(&topic("a"));
        assert_eq!(refreshes.next(SECOND, Vec::new), Refresh::Pending);
        refreshes.done(2 * SECOND, SECOND);
        assert_eq!(refreshes.next(2 * SECOND, Vec::new), Refresh::NotBefore(3 * SECOND));
        assert_eq!(refreshes.next(3 * SECOND, Vec::new), Refresh::Request(vec![topic("a")]));
    }

    #[test]
    fn old_metadata_is_requested_again_for_all_topics() {
        let mut refreshes = Refreshes::new(SECOND, AGE);
        let all = || vec![topic("a"), topic("b")];
        assert_eq!(refreshes.next(AGE, all), Refresh::NotBefore(AGE + SECOND));
        assert_eq!(refreshes.next(AGE + SECOND, all), Refresh::Request(all()));
        refreshes.done(2 * AGE, SECOND);
        assert_eq!(refreshes.next(2 * AGE, all), Refresh::NotBefore(3 * AGE));
        refreshes.mark(&topic("a"));
        assert_eq!(refreshes.next(2 * AGE, all), Refresh::NotBefore(2 * AGE + SECOND));
    }

    #[test]
    fn nothing_is_requested_without_topics() {
        let mut refreshes = Refreshes::new(Duration::ZERO, AGE);
        assert_eq!(refreshes.next(AGE, Vec::new), Refresh::NotBefore(AGE));
    }
}
