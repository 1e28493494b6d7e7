//! Values with units, converted to the unit that a setting's name ends in.

#[cfg(any(test, feature = "python"))]
use jiff::fmt::friendly::{Designator, Spacing, SpanPrinter};
use jiff::{SignedDuration, Span, SpanRelativeTo};

use crate::config::ByteSize;

/// Milliseconds per unit that a setting's name may end in.
const UNITS: [(&str, u32); 4] =
    [("ms", 1), ("seconds", 1000), ("minutes", 60_000), ("hours", 3_600_000)];

/// The milliseconds of the unit that a setting's name ends in; 1 if it ends in none.
pub fn unit_millis(name: &str) -> u64 {
    unit(name).unwrap_or(1).into()
}

fn unit(name: &str) -> Option<u32> {
    let last = name.rsplit('.').next()?;
    UNITS.iter().find(|(unit, _)| *unit == last).map(|(_, millis)| *millis)
}

/// Converts `7d` for `retention.ms` to `604800000` and `1GiB` for `segment.bytes` to `1073741824`.
/// Anything else is returned unchanged: the setting itself rejects it if necessary.
pub fn in_unit_of(key: &str, value: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    let number = if ["bytes", "size", "memory"].contains(&last) {
        value.parse().ok().map(|size: ByteSize| size.0.to_string())
    } else {
        unit(key).zip(duration(value)).and_then(|(unit, time)| {
            let (millis, unit) = (i64::try_from(time.as_millis()).ok()?, i64::from(unit));
            // Leave a fraction of the unit as it was typed, so that the setting's error quotes the
            // user's text.
            (millis % unit == 0).then(|| (millis / unit).to_string())
        })
    };
    number.unwrap_or_else(|| value.to_owned())
}

/// Parses a time with units: `90s`, `1h30m`, `7d`, `2w`. A day has 24 hours.
pub fn duration(text: &str) -> Option<SignedDuration> {
    spanned(text).map(|(_, duration)| duration)
}

/// A time in microseconds, and in the syntax of SQL's intervals: `1 hour 30 minutes` for `1h30m`.
/// `None` if the text is not a time of known length, or not a whole number of microseconds.
#[cfg(any(test, feature = "python"))]
pub(crate) fn interval(text: &str) -> Option<(i64, String)> {
    let (span, duration) = spanned(text)?;
    let printer = SpanPrinter::new()
        .designator(Designator::Verbose)
        .spacing(Spacing::BetweenUnitsAndDesignators);
    let is_whole = duration.subsec_nanos() % 1000 == 0;
    let microseconds = i64::try_from(duration.as_micros()).ok().filter(|_| is_whole)?;
    Some((microseconds, printer.span_to_string(&span)))
}

/// A time as it was typed, and its length. `None` if the text is not a time, if its length is not
/// known (as of a month), or if it lies in the past, such as `5s ago`.
fn spanned(text: &str) -> Option<(Span, SignedDuration)> {
    let text = text.trim();
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let span: Span = text.parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (!duration.is_negative()).then_some((span, duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_taken_where_the_name_has_one() {
        for (key, value, expected) in [
            ("retention.ms", "7d", "604800000"),
            ("retention.ms", "1h 30m", "5400000"),
            ("linger.ms", "5ms", "5"),
            ("log.retention.hours", "2w", "336"),
            ("retention.bytes", "1GiB", "1073741824"),
            ("batch.size", "64k", "65536"),
            ("buffer.memory", "1 MiB", "1048576"),
        ] {
            assert_eq!(in_unit_of(key, value), expected, "{key}={value}");
        }
    }

    #[test]
    fn an_interval_is_said_in_words_of_sql() {
        for (text, microseconds, words) in [
            ("10s", 10_000_000, "10 seconds"),
            ("1h30m", 5_400_000_000, "1 hour 30 minutes"),
            ("10 \t seconds", 10_000_000, "10 seconds"),
            ("1.5 seconds", 1_500_000, "1 second 500 milliseconds"),
            ("7 us", 7, "7 microseconds"),
            ("2 weeks 1 day", 1_296_000_000_000, "2 weeks 1 day"),
            ("0 days", 0, "0 seconds"),
        ] {
            assert_eq!(interval(text), Some((microseconds, words.to_owned())), "{text}");
        }
        for text in ["10", "ten seconds", "-5s", "5s ago", "1 month", "10 secnds", "5ns", "P1D"] {
            assert_eq!(interval(text), None, "{text}");
        }
    }

    #[test]
    fn anything_else_stays_as_it_was_typed() {
        for (key, value) in [
            ("retention.ms", "-1"),
            ("retention.ms", "604800000"),
            ("retention.ms", "soon"),
            ("retention.ms", "5s ago"),
            ("log.retention.hours", "90m"),
            ("cleanup.policy", "7d"),
            ("client.id", "1GiB"),
            ("retention.bytes", "-1"),
        ] {
            assert_eq!(in_unit_of(key, value), value, "{key}={value}");
        }
    }
}
