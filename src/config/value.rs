//! Values and the ranges they must lie in.

use std::time::Duration;

use crate::config::ByteSize;

/// Parses a whole number from `least` to `most`.
///
/// # Errors
/// With what was expected instead.
pub fn number<T: TryFrom<i64>>(text: &str, least: i64, most: i64) -> Result<T, String> {
    let parsed = text.trim().parse::<i64>().ok().filter(|v| (least..=most).contains(v));
    parsed
        .and_then(|v| T::try_from(v).ok())
        .ok_or_else(|| format!("a whole number from {least} to {most}"))
}

/// Parses a number of bytes from `least` to `most`, with or without a unit.
///
/// # Errors
/// With what was expected instead.
pub fn size(text: &str, least: u64, most: u64) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse()?;
    if (least..=most).contains(&size.0) {
        Ok(size)
    } else {
        Err(format!("{least} to {most} bytes"))
    }
}

/// Parses a duration in milliseconds, of at least `least`.
///
/// # Errors
/// With what was expected instead.
pub fn millis(text: &str, least: u64) -> Result<Duration, String> {
    let parsed = text.trim().parse().ok().filter(|v| *v >= least);
    parsed.map(Duration::from_millis).ok_or_else(|| format!("milliseconds, at least {least}"))
}

/// Parses `true` or `false`.
///
/// # Errors
/// With what was expected instead.
pub fn switch(text: &str) -> Result<bool, String> {
    text.trim().parse().map_err(|_| "true or false".to_owned())
}
