//! `KEY=VALUE` settings on the command line, checked for the object they belong to.

use crate::broker::BrokerConfig;
use crate::client::ClientSettings;
use crate::config::{ConfigError, in_unit_of};
use crate::storage::LogConfig;

/// Splits `text` into key and value, with the value converted to the unit of the key; `option` is
/// shown in errors.
pub(super) fn pair(text: &str, option: &str) -> Result<(String, String), ConfigError> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| ConfigError::single(text, format!("expected {option}")))?;
    let key = key.trim();
    Ok((key.to_owned(), in_unit_of(key, value)))
}

/// Parses settings of a topic given as `KEY=VALUE`.
pub(super) fn topic_pairs(rows: &[String]) -> Result<Vec<(String, String)>, ConfigError> {
    let mut pairs = Vec::with_capacity(rows.len());
    for row in rows {
        let (key, value) = pair(row, "-c KEY=VALUE")?;
        check_of_topic(&key)?;
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Refuses a client setting given for a topic.
pub(super) fn check_of_topic(key: &str) -> Result<(), ConfigError> {
    if is_of_topic(key) || !ClientSettings::names().any(|name| name == key) {
        return Ok(());
    }
    let reason = format!("it is a setting of this client, not of topics: -X {key}=VALUE");
    Err(ConfigError::single(key, reason))
}

/// Refuses a topic or broker setting given for a client.
pub(super) fn check_of_client(key: &str) -> Result<(), ConfigError> {
    if ClientSettings::names().any(|name| name == key) {
        return Ok(());
    }
    let reason = if is_of_topic(key) {
        format!("it is a setting of topics: -c {key}=VALUE of `topic create` and `topic alter`")
    } else if BrokerConfig::all_names().any(|name| name == key) {
        format!("it is a setting of brokers: `streamlog config set nodes {key}=VALUE`")
    } else {
        return Ok(());
    };
    Err(ConfigError::single(key, reason))
}

fn is_of_topic(key: &str) -> bool {
    LogConfig::KEYS.iter().any(|row| row.name() == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misplaced_setting_is_refused_with_its_right_place() {
        let topic = |key| check_of_topic(key).map_err(|error| error.to_string());
        let client = |key| check_of_client(key).map_err(|error| error.to_string());
        assert!(topic("linger.ms").unwrap_err().contains("-X linger.ms"));
        assert!(client("retention.ms").unwrap_err().contains("-c retention.ms"));
        assert!(client("num.partitions").unwrap_err().contains("config set nodes"));
        assert_eq!((topic("retention.ms"), client("linger.ms")), (Ok(()), Ok(())));
        assert_eq!((topic("compression.type"), client("compression.type")), (Ok(()), Ok(())));
        assert_eq!((topic("retnetion.ms"), client("lingr.ms")), (Ok(()), Ok(())));
    }
}
