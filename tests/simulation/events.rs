//! The events of a run: how often each occurred, and a hash of all of them in order.

use std::collections::BTreeMap;
use std::time::Duration;

/// The counts of events by name, and their hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    counts: BTreeMap<&'static str, u64>,
    hash: u64,
}

/// The events by which a fault takes effect.
const FAULTS: &[&str] = &[
    "broker stopped in order",
    "connection to the store broken",
    "cut in both directions",
    "cut in one direction",
    "cut off from the store",
    "disk emptied",
    "disk full",
    "disk rolled back",
    "ended by its disk",
    "expired while alive",
    "flush slowed",
    "killed",
    "known broker deleted",
    "node deleted",
    "node overwritten",
    "paused",
    "power cut",
    "state deleted",
    "state overwritten",
    "store away",
    "wall clock jumped",
];

/// The events that a run of all seeds must contain: without them it proves nothing.
pub(crate) const REQUIRED: &[&str] = &[
    "acknowledged",
    "acknowledged after the epoch",
    "acknowledged when repeated",
    "answer not taken",
    "answered on proof",
    "blackout",
    "broker stopped in order",
    "caching changed",
    "caching ended",
    "commit for a former generation refused",
    "commit of a removed member refused",
    "connection to the store broken",
    "cut in both directions",
    "cut in one direction",
    "cut off from the store",
    "disk emptied",
    "disk full",
    "disk of another refused",
    "disk rolled back",
    "elected",
    "elected after the wait",
    "eligible replica elected",
    "empty disk in a blackout",
    "ended by its disk",
    "expired while alive",
    "fetch of an unknown incarnation",
    "flush slowed",
    "hand-over cut short",
    "handed over",
    "in-sync set grew",
    "in-sync set shrank",
    "killed",
    "known broker deleted",
    "leader confirmed",
    "leader not confirmed",
    "lease ran out",
    "log cut",
    "log removed",
    "log reported",
    "loss given up",
    "member hung",
    "member left",
    "member stays eligible",
    "minimum changed",
    "nobody leads",
    "node deleted",
    "node mended",
    "node overwritten",
    "offsets committed",
    "outcome unknown",
    "partitions assigned",
    "paused beyond the session",
    "power cut",
    "power cut after caching",
    "read",
    "refused change",
    "repetition recognized",
    "segment removed",
    "session expired",
    "setting changed",
    "state deleted",
    "state made again",
    "state overwritten",
    "store away",
    "truncated",
    "walked back over two epochs",
    "wall clock jumped",
];

impl Events {
    /// Counts an event, which happened at `time` and has these numbers.
    pub(crate) fn note(&mut self, time: Duration, name: &'static str, numbers: &[i64]) {
        *self.counts.entry(name).or_default() += 1;
        let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let bytes = name.bytes().map(u64::from);
        let numbers = numbers.iter().chain([&millis]).map(|number| number.cast_unsigned());
        for word in bytes.chain(numbers) {
            // FNV-1a, by words.
            self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
        }
    }

    /// The number of events of a name.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// The number of faults that took effect.
    pub(crate) fn faults(&self) -> u64 {
        FAULTS.iter().map(|name| self.count(name)).sum()
    }

    /// Adds the counts of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        for (name, count) in &other.counts {
            *self.counts.entry(name).or_default() += count;
        }
    }
}
