//! A setting as a row of a table: name, description, type, setter and getter.

use crate::config::{ConfigError, Fault};

/// The type of a setting's value, as `DescribeConfigs` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// A 32-bit number.
    Int,
    /// A 64-bit number.
    Long,
    /// A fraction.
    Double,
    /// Comma-separated words.
    List,
}

/// One setting of a configuration `C`.
#[derive(Clone, Copy, Debug)]
pub struct Key<C> {
    /// Kafka's name of the setting, or streamlog's own where Kafka has none.
    pub name: &'static str,
    /// A one-sentence description, with the unit.
    pub about: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Parses and stores a value; the error says what was expected instead.
    pub set: fn(&mut C, &str) -> Result<(), String>,
    /// The value in the form `set` takes.
    pub get: fn(&C) -> String,
}

/// Applies `values` in order and collects all faults, each under its key.
///
/// # Errors
/// If a name is unknown (the nearest known name is suggested) or a value is not valid.
pub fn set_all<'a, C>(
    config: &mut C,
    keys: &[Key<C>],
    values: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), ConfigError> {
    let mut faults = Vec::new();
    for (name, value) in values {
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            faults.push(Fault::unknown(name, keys.iter().map(|key| key.name)));
            continue;
        };
        if let Err(expected) = (key.set)(config, value) {
            faults.push(Fault::invalid(name, value, expected));
        }
    }
    ConfigError::from_faults(faults)
}

/// Sets the row with this name; `None` if there is none.
pub(crate) fn set_row<C>(
    config: &mut C,
    rows: &[Key<C>],
    name: &str,
    value: &str,
) -> Option<Result<(), Fault>> {
    let row = rows.iter().find(|row| row.name == name)?;
    Some((row.set)(config, value).map_err(|wanted| Fault::invalid(name, value, wanted)))
}

/// The names of all rows.
pub(crate) fn names<C>(rows: &'static [Key<C>]) -> impl Iterator<Item = &'static str> {
    rows.iter().map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Sample {
        count: i32,
    }

    const KEYS: &[Key<Sample>] = &[Key {
        name: "num.partitions",
        about: "How many.",
        kind: Kind::Int,
        set: |c, text| text.parse().map(|v| c.count = v).map_err(|e| format!("a number ({e})")),
        get: |c| c.count.to_string(),
    }];

    #[test]
    fn every_fault_is_reported_with_its_key_and_the_nearest_name() {
        let mut sample = Sample::default();
        let values = [("num.partition", "1"), ("num.partitions", "many"), ("num.partitions", "3")];
        let error = set_all(&mut sample, KEYS, values).unwrap_err().to_string();
        assert!(error.contains("did you mean 'num.partitions'"), "{error}");
        assert!(error.contains("'many'"), "{error}");
        assert_eq!(sample.count, 3);
    }
}
