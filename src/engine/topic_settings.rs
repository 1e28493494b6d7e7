//! A topic's settings: its overrides on top of the broker's defaults.

use std::sync::Arc;

use crate::config::{ConfigError, Fault, set_all};
use crate::metadata::Configs;
use crate::record::{Limits, ProduceRules, TimestampType};
use crate::storage::LogConfig;
use crate::types::Timestamp;

/// A setting that is fixed when a topic is created.
pub(crate) const OFFSET_UNIT: &str = "offset.unit";

/// Broker settings whose names differ from those of the topic settings for which they are the
/// default. Values are in the topic setting's unit.
const BROKER_NAMES: &[(&str, &str)] = &[
    ("log.cleaner.delete.retention.ms", "delete.retention.ms"),
    ("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"),
    ("log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"),
    ("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"),
    ("log.cleanup.policy", "cleanup.policy"),
    ("log.flush.interval.messages", "flush.messages"),
    ("log.flush.interval.ms", "flush.ms"),
    ("log.index.interval.bytes", "index.interval.bytes"),
    ("log.index.size.max.bytes", "segment.index.bytes"),
    ("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"),
    ("log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"),
    ("log.message.timestamp.type", "message.timestamp.type"),
    ("log.preallocate", "preallocate"),
    ("log.retention.bytes", "retention.bytes"),
    ("log.retention.ms", "retention.ms"),
    ("log.roll.jitter.ms", "segment.jitter.ms"),
    ("log.roll.ms", "segment.ms"),
    ("log.segment.bytes", "segment.bytes"),
    ("log.segment.delete.delay.ms", "file.delete.delay.ms"),
    ("message.max.bytes", "max.message.bytes"),
];

/// Broker settings in larger units, and the number of milliseconds per unit.
const SCALED_NAMES: &[(&str, &str, u64)] = &[
    ("log.retention.hours", "retention.ms", 3_600_000),
    ("log.retention.minutes", "retention.ms", 60_000),
    ("log.roll.hours", "segment.ms", 3_600_000),
    ("log.roll.jitter.hours", "segment.jitter.ms", 3_600_000),
];

/// The names accepted by [`set_default`].
pub(crate) fn broker_names() -> impl Iterator<Item = &'static str> {
    let own = LogConfig::KEYS.iter().map(|key| key.name);
    let renamed = BROKER_NAMES.iter().map(|(name, _)| *name);
    own.chain(renamed).chain(SCALED_NAMES.iter().map(|(name, ..)| *name))
}

/// The name of the broker setting that is the default of this topic setting.
pub(crate) fn broker_name(topic_key: &'static str) -> &'static str {
    let renamed = BROKER_NAMES.iter().find(|(_, key)| *key == topic_key);
    renamed.map_or(topic_key, |(name, _)| name)
}

/// Sets a default of all topics by its broker name. `None` if there is no such setting.
pub(crate) fn set_default(
    defaults: &mut LogConfig,
    name: &str,
    value: &str,
) -> Option<Result<(), Fault>> {
    if let Some((_, key, scale)) = SCALED_NAMES.iter().find(|(known, ..)| *known == name) {
        let scaled = match value.trim().parse::<u64>() {
            Ok(number) => number.saturating_mul(*scale).to_string(),
            // −1, for ever, has no unit; the row itself refuses anything else.
            Err(_) => value.to_owned(),
        };
        return Some(set_row(defaults, key, &scaled, name));
    }
    topic_key(name).map(|key| set_row(defaults, key, value, name))
}

/// The topic setting whose default is set by this broker name.
pub(crate) fn topic_key(name: &str) -> Option<&'static str> {
    let scaled = SCALED_NAMES.iter().map(|(known, key, _)| (*known, *key));
    let renamed = BROKER_NAMES.iter().copied().chain(scaled).find(|(known, _)| *known == name);
    let own = || LogConfig::KEYS.iter().map(|row| row.name).find(|key| *key == name);
    renamed.map(|(_, key)| key).or_else(own)
}

/// Milliseconds per unit of the broker setting with this name.
pub(crate) fn unit(name: &str) -> u64 {
    SCALED_NAMES.iter().find(|(known, ..)| *known == name).map_or(1, |(.., scale)| *scale)
}

fn set_row(defaults: &mut LogConfig, key: &str, value: &str, name: &str) -> Result<(), Fault> {
    match LogConfig::KEYS.iter().find(|row| row.name == key) {
        Some(row) => {
            (row.set)(defaults, value).map_err(|expected| Fault::invalid(name, value, expected))
        }
        None => Err(Fault::unknown(name, broker_names())),
    }
}

/// The settings of a topic with these overrides.
///
/// # Errors
/// With every override that is unknown or not valid.
pub(crate) fn resolve(
    defaults: &LogConfig,
    overrides: &Configs,
) -> Result<Arc<LogConfig>, ConfigError> {
    let mut config = defaults.clone();
    let rows = overrides.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    set_all(&mut config, LogConfig::KEYS, rows)?;
    config.validate()?;
    Ok(Arc::new(config))
}

/// Returns the check of a topic's overrides: all must be valid, and immutable settings unchanged.
pub(crate) fn check_configs(
    defaults: &LogConfig,
) -> impl Fn(Option<&Configs>, &Configs) -> Result<(), ConfigError> + Sync {
    move |before, after| {
        let inherited = defaults.offset_unit.to_string();
        let unit = |configs: &Configs| configs.get(OFFSET_UNIT).unwrap_or(&inherited).clone();
        if before.is_some_and(|before| unit(before) != unit(after)) {
            return Err(ConfigError::single(OFFSET_UNIT, "it is fixed when a topic is made"));
        }
        resolve(defaults, after).map(drop)
    }
}

/// The rules that a topic's settings impose on produced batches.
pub(crate) fn produce_rules(config: &LogConfig, now: Timestamp) -> ProduceRules {
    let batch_bytes_max = usize::try_from(config.max_message_size.0).unwrap_or(usize::MAX);
    let (earliest, latest) = match config.timestamp_type {
        TimestampType::CreateTime => {
            (now.minus(config.timestamp_before_max), now.plus(config.timestamp_after_max))
        }
        // The client's timestamp is overwritten, so it need not be checked.
        TimestampType::LogAppendTime => {
            (Timestamp::from_millis(i64::MIN), Timestamp::from_millis(i64::MAX))
        }
    };
    ProduceRules {
        batch_bytes_max,
        packing: config.packing(),
        walk_compressed: config.strict_batch_validation,
        keys_required: config.cleanup_policy.compact,
        earliest,
        latest,
        limits: Limits::for_batches_up_to(batch_bytes_max),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_broker_name_leads_to_a_setting_of_topics() {
        for (name, key) in BROKER_NAMES {
            let row = LogConfig::KEYS.iter().find(|row| row.name == *key);
            let row = row.unwrap_or_else(|| panic!("{name} leads to {key}, which is no setting"));
            let mut defaults = LogConfig::default();
            let shown = (row.get)(&defaults);
            assert_eq!(set_default(&mut defaults, name, &shown), Some(Ok(())), "{name}");
            assert_eq!(defaults, LogConfig::default(), "{name}");
        }
    }

    #[test]
    fn what_offsets_count_is_fixed_and_rules_compaction_out() {
        let own = |rows: &[(&str, &str)]| -> Configs {
            rows.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let defaults = LogConfig::default();
        let check = check_configs(&defaults);
        let by_bytes = own(&[("offset.unit", "byte")]);
        assert!(check(None, &by_bytes).is_ok());
        let faults = |before: Option<&Configs>, after: &[(&str, &str)]| {
            check(before, &own(after)).unwrap_err().to_string()
        };
        assert!(faults(Some(&by_bytes), &[]).contains("offset.unit"));
        assert!(faults(Some(&Configs::new()), &[("offset.unit", "byte")]).contains("offset.unit"));
        let compacted = [("offset.unit", "byte"), ("cleanup.policy", "compact")];
        assert!(faults(None, &compacted).contains("cleanup.policy"));
        assert!(faults(Some(&by_bytes), &compacted).contains("cleanup.policy"));
    }

    #[test]
    fn times_are_bounded_only_where_the_client_tells_them() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let mut config = LogConfig::default();
        assert_eq!(produce_rules(&config, now).latest, now.plus(config.timestamp_after_max));
        config.timestamp_type = TimestampType::LogAppendTime;
        assert_eq!(produce_rules(&config, now).latest, Timestamp::from_millis(i64::MAX));
    }

    #[test]
    fn hours_become_milliseconds() {
        let mut defaults = LogConfig::default();
        assert_eq!(set_default(&mut defaults, "log.retention.hours", "2"), Some(Ok(())));
        assert_eq!(defaults.retention, Some(Duration::from_hours(2)));
        assert_eq!(set_default(&mut defaults, "log.retention.hours", "-1"), Some(Ok(())));
        assert_eq!(defaults.retention, None);
        assert!(set_default(&mut defaults, "no.such.name", "1").is_none());
    }
}
