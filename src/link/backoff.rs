//! Pauses between attempts: exponential, bounded, and with jitter.

use std::time::Duration;

use crate::io::{Clock, SeededRandom};

/// The pauses of one sequence of attempts.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    failures: u32,
    random: SeededRandom,
}

impl Backoff {
    /// The pauses from `first` up to `max`; the clock seeds the jitter, so that processes differ.
    pub fn new(first: Duration, max: Duration, clock: &dyn Clock) -> Self {
        let nanos = u64::try_from(clock.monotonic().as_nanos()).unwrap_or(u64::MAX);
        Self { first, max, failures: 0, random: SeededRandom::new(nanos) }
    }

    /// The pause after another failure: 80 to 120 percent of a base that starts with the first
    /// pause and doubles up to the bound.
    pub fn next_pause(&mut self) -> Duration {
        let factor = 1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        let full = self.first.saturating_mul(factor).min(self.max);
        let percent = u32::try_from(self.random.between(80, 120)).unwrap_or(100);
        full.saturating_mul(percent) / 100
    }

    /// Starts again with the first pause, after a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_again_after_success() {
        let (first, max) = (Duration::from_millis(100), Duration::from_millis(400));
        let mut backoff = Backoff::new(first, max, &ManualClock::default());
        for full in [100, 200, 400, 400, 400] {
            let pause = backoff.next_pause().as_millis();
            assert!((full * 8 / 10..=full * 12 / 10).contains(&pause), "{pause} of {full}");
        }
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(120));
    }
}
