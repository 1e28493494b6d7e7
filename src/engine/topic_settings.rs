//! A topic's settings: its overrides on top of the broker's defaults.

use std::sync::Arc;

use crate::config::{ConfigError, set_all};
use crate::metadata::Configs;
use crate::record::{Limits, ProduceRules, TimestampType};
use crate::storage::LogConfig;
use crate::types::Timestamp;

/// A setting that is fixed when a topic is created.
pub(crate) const OFFSET_UNIT: &str = "offset.unit";

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
    use super::*;

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
}
