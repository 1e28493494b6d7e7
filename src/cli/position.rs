//! Log positions on the command line: `earliest`, `1234`, `-10`, `2026-11-01T08:00`, `-1h`.

use std::str::FromStr;

use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, Zoned};

use crate::config::duration;
use crate::types::{Offset, Timestamp};

/// The time that timestamps count from. Unlike a `jiff::Timestamp`, a time of this type can be on
/// each day of the year 9999.
pub(crate) const UNIX_EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// The valid forms, for error messages.
const EXPECTED: &str = "earliest, latest, an offset, +N or -N, a time as 2026-11-01T08:00 (local) \
                        or 2026-11-01T08:00Z, or an age as -1h";

/// A position in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The first record.
    Earliest,
    /// The end of the log.
    Latest,
    /// This offset.
    Offset(Offset),
    /// A number of offsets relative to the command's reference position.
    Relative(i64),
    /// The first record with this timestamp or a later one.
    Time(Timestamp),
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text, Instant::now())
    }
}

impl Position {
    fn read(text: &str, now: Instant) -> Result<Self, String> {
        match text {
            "earliest" | "beginning" => return Ok(Self::Earliest),
            "latest" | "end" => return Ok(Self::Latest),
            _ => {}
        }
        if let Ok(number) = text.parse::<i64>() {
            let is_relative = text.starts_with(['+', '-']);
            return Ok(if is_relative {
                Self::Relative(number)
            } else {
                Self::Offset(Offset::new(number))
            });
        }
        if let Some(age) = text.strip_prefix('-').and_then(duration) {
            let time = now.checked_sub(age).map_err(|error| error.to_string())?;
            return Ok(Self::Time(Timestamp::from_millis(time.as_millisecond())));
        }
        let time = instant(text).map(Instant::as_millisecond).or_else(|| last_days(text));
        match time {
            Some(millis) => Ok(Self::Time(Timestamp::from_millis(millis))),
            None => Err(format!("expected {EXPECTED}")),
        }
    }
}

/// Parses a time with a zone, or a local time of this machine.
fn instant(text: &str) -> Option<Instant> {
    if let Ok(instant) = text.parse::<Instant>() {
        return Some(instant);
    }
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Some(zoned.timestamp());
    }
    let local: DateTime = text.parse().ok()?;
    TimeZone::system().to_timestamp(local).ok()
}

/// Parses a time in UTC in the last days of the year 9999, which an `Instant` leaves out, since
/// they belong to the next year in some time zones. In milliseconds since 1970.
fn last_days(text: &str) -> Option<i64> {
    let time: DateTime = text.strip_suffix('Z')?.parse().ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Position, String> {
        Position::read(text, Instant::from_second(1_700_000_000).unwrap())
    }

    fn time(millis: i64) -> Position {
        Position::Time(Timestamp::from_millis(millis))
    }

    #[test]
    fn numbers_are_offsets_and_signed_numbers_are_relative() {
        assert_eq!(read("earliest"), Ok(Position::Earliest));
        assert_eq!(read("12"), Ok(Position::Offset(Offset::new(12))));
        assert_eq!(read("-12"), Ok(Position::Relative(-12)));
        assert_eq!(read("+12"), Ok(Position::Relative(12)));
    }

    #[test]
    fn times_have_a_zone_or_are_local_or_an_age() {
        assert_eq!(read("2023-11-14T22:13:20Z"), Ok(time(1_700_000_000_000)));
        assert_eq!(read("2023-11-14T23:13:20+01:00"), Ok(time(1_700_000_000_000)));
        assert_eq!(read("-1h"), Ok(time(1_699_996_400_000)));
        assert_eq!(read("-1h30m"), Ok(time(1_699_994_600_000)));
        assert_eq!(read("-7d"), Ok(time(1_699_395_200_000)));
        assert_eq!(read("9999-12-31T00:00:00Z"), Ok(time(253_402_214_400_000)));
        assert!(matches!(read("2023-11-14T22:13"), Ok(Position::Time(_))));
        assert!(matches!(read("2023-11-14"), Ok(Position::Time(_))));
    }

    #[test]
    fn an_invalid_position_is_refused_with_the_valid_forms() {
        assert!(read("yesterday").unwrap_err().contains("2026-11-01T08:00"));
    }
}
