//! Times: milliseconds since 1970 in the log, aware datetimes and timedeltas in Python.

use std::ops::RangeInclusive;
use std::time::Duration;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::types::{PyAnyMethods, PyDateTime, PyDelta, PyTzInfo};
use pyo3::{Bound, PyAny, PyResult, Python};

use crate::config::ConfigError;
use crate::python::arguments::misfit;
use crate::python::errors::refused;
use crate::types::Timestamp;

const MILLIS: f64 = 1e3;

const MILLIS_PER_DAY: i64 = 86_400_000;
/// The milliseconds since 1970 that a datetime can hold: the years 1 to 9999.
const DATETIMES: RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// The longest finite wait in seconds, 31 years.
const LONGEST: f64 = 1e9;
/// The expected form of a waiting time.
const SECONDS: &str = "seconds, not negative";

/// The timestamp of the record at `place` as a datetime in UTC; `None` for a record without one.
pub(crate) fn datetime(
    py: Python<'_>,
    timestamp: Timestamp,
    place: impl FnOnce() -> String,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    if timestamp == Timestamp::NONE {
        return Ok(None);
    }
    let millis = timestamp.millis();
    if !DATETIMES.contains(&millis) {
        return Err(PyValueError::new_err(format!(
            "the timestamp of {}, {millis} ms since 1970, is outside the years 1 to 9999 of a \
             datetime: read timestamp_ms",
            place()
        )));
    }
    // Add whole numbers: seconds as a float are not exact to the microsecond after the year 2242.
    let epoch = PyDateTime::from_timestamp(py, 0.0, Some(&*PyTzInfo::utc(py)?))?;
    let (days, rest) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
    let (seconds, micros) = (rest / 1000, rest % 1000 * 1000);
    let int = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
    let since = PyDelta::new(py, int(days), int(seconds), int(micros), false)?;
    epoch.add(since).map(Some)
}

/// The time of Python's monotonic clock in seconds.
pub(crate) fn monotonic(py: Python<'_>) -> PyResult<f64> {
    py.import("time")?.call_method0("monotonic")?.extract()
}

/// Converts an aware datetime, or a non-positive timedelta relative to now. Returns `None` for
/// other types.
pub(crate) fn timestamp(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Timestamp>> {
    let py = value.py();
    let seconds: f64 = if value.is_instance_of::<PyDateTime>() {
        if value.getattr("tzinfo")?.is_none() {
            let reason = "a datetime without tzinfo: say in which time zone it is";
            return Err(refused(&ConfigError::single(name, reason)));
        }
        value.call_method0("timestamp")?.extract()?
    } else if value.is_instance_of::<PyDelta>() {
        let delta: f64 = value.call_method0("total_seconds")?.extract()?;
        if delta > 0.0 {
            let reason = "a timedelta is counted from now: timedelta(hours=-1) is an hour ago";
            return Err(refused(&ConfigError::single(name, reason)));
        }
        let now: f64 = py.import("time")?.call_method0("time")?.extract()?;
        now + delta
    } else {
        return Ok(None);
    };
    #[expect(clippy::cast_possible_truncation, reason = "datetimes end in the year 9999")]
    let millis = (seconds * MILLIS).round() as i64;
    Ok(Some(Timestamp::from_millis(millis)))
}

/// Converts the argument `name` to a timeout; `None` waits without limit.
pub(crate) fn timeout(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    let Some(given) = given else { return Ok(None) };
    let seconds = seconds(name, given)?;
    if seconds > LONGEST {
        return Ok(None);
    }
    let timeout = Duration::try_from_secs_f64(seconds);
    timeout.map(Some).map_err(|_| misfit(name, given, SECONDS))
}

/// Converts the argument `name` to a timeout of at most [`LONGEST`] seconds.
pub(crate) fn max_wait(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Ok(timeout(name, Some(given))?.unwrap_or(Duration::from_secs_f64(LONGEST)))
}

/// Converts the argument `name` to seconds. More than [`LONGEST`] become infinite; negative seconds
/// are accepted, for a time that has passed.
pub(crate) fn seconds(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    match given.extract::<f64>() {
        Ok(seconds) if seconds > LONGEST => Ok(f64::INFINITY),
        Ok(seconds) if !seconds.is_nan() => Ok(seconds),
        // An integer too large for a float.
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) && given.gt(0)? => {
            Ok(f64::INFINITY)
        }
        _ => Err(misfit(name, given, SECONDS)),
    }
}
