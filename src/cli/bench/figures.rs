//! Rates and percentiles for display.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The highest latency recorded, in microseconds.
const HOUR: u64 = 3_600_000_000;

/// Latencies with a precision of three digits.
pub(super) struct Latencies {
    micros: Histogram<u64>,
}

impl Latencies {
    /// No latencies.
    pub(super) fn new() -> Self {
        let micros = Histogram::new_with_bounds(1, HOUR, 3);
        Self { micros: micros.unwrap_or_else(|error| unreachable!("1 µs to 1 h: {error}")) }
    }

    /// Adds a latency.
    pub(super) fn add(&mut self, latency: Duration) {
        self.micros.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(HOUR));
    }

    /// The number of latencies.
    pub(super) fn count(&self) -> u64 {
        self.micros.len()
    }

    /// The quantile `part`, from 0 to 1, in milliseconds.
    pub(super) fn millis(&self, part: f64) -> f64 {
        millis(Duration::from_micros(self.micros.value_at_quantile(part)))
    }

    /// The maximum in milliseconds.
    pub(super) fn max_millis(&self) -> f64 {
        millis(Duration::from_micros(self.micros.max()))
    }
}

/// The rate per second.
pub(super) fn per_second(count: u64, took: Duration) -> f64 {
    rounded(float(count) / took.as_secs_f64(), 0)
}

/// The rate in MiB per second.
pub(super) fn mib_per_second(bytes: u64, took: Duration) -> f64 {
    rounded(float(bytes) / f64::from(1 << 20) / took.as_secs_f64(), 2)
}

/// A duration in seconds, rounded to milliseconds.
pub(super) fn seconds(took: Duration) -> f64 {
    rounded(took.as_secs_f64(), 3)
}

/// A duration in milliseconds, rounded to microseconds.
pub(super) fn millis(took: Duration) -> f64 {
    rounded(took.as_secs_f64() * 1e3, 3)
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2⁵³ are exact, larger ones a rate")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_latencies() {
        let mut latencies = Latencies::new();
        for millis in (1..=1000).rev() {
            latencies.add(Duration::from_millis(millis));
        }
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.001;
        assert!(near(latencies.millis(0.5), 500.0), "{}", latencies.millis(0.5));
        assert!(near(latencies.millis(0.99), 990.0), "{}", latencies.millis(0.99));
        assert!(near(latencies.max_millis(), 1000.0), "{}", latencies.max_millis());
        assert_eq!(latencies.count(), 1000);
        latencies.add(Duration::from_hours(30));
        assert!(latencies.max_millis() >= 3_600_000.0);
    }

    #[test]
    fn rates_are_per_second() {
        let took = Duration::from_millis(500);
        assert_eq!(per_second(1000, took).to_string(), "2000");
        assert_eq!(mib_per_second(1 << 20, took).to_string(), "2");
        assert_eq!(seconds(took).to_string(), "0.5");
    }
}
