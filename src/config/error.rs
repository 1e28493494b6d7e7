//! The error that lists every fault of a configuration.

use std::fmt;

/// Every fault of a configuration, reported at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// The faults; never empty.
    pub faults: Vec<Fault>,
}

/// A fault of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key as it was given, or the name of the argument at fault; see also [`ConfigError::of`].
    pub key: String,
    /// The fault, and the values that would be valid.
    pub reason: String,
}

impl ConfigError {
    /// Returns `Ok` if there is no fault.
    pub fn from_faults(faults: Vec<Fault>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self { faults }) }
    }

    /// An error with a single fault.
    pub fn single(key: &str, reason: impl Into<String>) -> Self {
        Self { faults: vec![Fault { key: key.to_owned(), reason: reason.into() }] }
    }

    /// Prefixes every key with `place`, such as the name of a file.
    #[must_use]
    pub fn of(mut self, place: impl fmt::Display) -> Self {
        for fault in &mut self.faults {
            fault.key = format!("{place}: {}", fault.key);
        }
        self
    }
}

impl Fault {
    /// Reports an unknown setting and suggests the nearest known name, if any is near.
    pub fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        match nearest(name, known) {
            Some(candidate) => Self::unknown_but(name, format!("'{candidate}'")),
            None => Self { key: name.to_owned(), reason: "unknown setting".to_owned() },
        }
    }

    /// Reports an unknown setting and suggests `meant`.
    pub fn unknown_but(name: &str, meant: impl fmt::Display) -> Self {
        let reason = format!("unknown setting; did you mean {meant}?");
        Self { key: name.to_owned(), reason }
    }

    /// Reports a value that is not valid for the setting.
    pub fn invalid(name: &str, value: &str, expected: impl fmt::Display) -> Self {
        Self {
            key: name.to_owned(),
            reason: format!("invalid value '{value}': expected {expected}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

/// The known name with the smallest edit distance to `name`, if that is at most two, or a third of
/// the known name's length.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(2))
        .map(|(_, candidate)| candidate)
}
