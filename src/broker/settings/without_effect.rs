//! Settings that Apache Kafka can change at runtime and that have no effect here.
//!
//! Tools set them without further thought, so they are accepted, stored, and described as without
//! effect, with the reason. Settings that make a promise are refused instead, as at startup.

use crate::broker::{BrokerConfig, unserved};
use crate::config::{Fault, Kind, Settings};
use crate::storage::LogConfig;

/// The reason why a setting that is read at startup has no effect at runtime.
const READ_AT_START: &str = "it is read when the broker starts; change its configuration and \
                             restart it";

/// The names and types of the settings without effect.
pub(super) const WITHOUT_EFFECT: &[(&str, Kind)] = &[
    ("background.threads", Kind::Int),
    ("errors.deadletterqueue.auto.create.topics.enable", Kind::Boolean),
    ("errors.deadletterqueue.topic.name.prefix", Kind::String),
    ("follower.fetch.last.tiered.offset.enable", Kind::Boolean),
    ("group.consumer.assignment.interval.ms", Kind::Int),
    ("group.coordinator.cached.buffer.max.bytes", Kind::Int),
    ("group.share.assignment.interval.ms", Kind::Int),
    ("group.streams.assignment.interval.ms", Kind::Int),
    ("log.cleaner.backoff.ms", Kind::Long),
    ("log.cleaner.dedupe.buffer.size", Kind::Long),
    ("log.cleaner.io.buffer.load.factor", Kind::Double),
    ("log.cleaner.io.buffer.size", Kind::Int),
    ("log.cleaner.io.max.bytes.per.second", Kind::Double),
    ("log.cleaner.threads", Kind::Int),
    ("log.local.retention.bytes", Kind::Long),
    ("log.local.retention.ms", Kind::Long),
    ("log.remote.copy.lag.bytes", Kind::Long),
    ("log.remote.copy.lag.ms", Kind::Long),
    ("metric.reporters", Kind::List),
    ("num.io.threads", Kind::Int),
    ("num.network.threads", Kind::Int),
    ("num.recovery.threads.per.data.dir", Kind::Int),
    ("num.replica.fetchers", Kind::Int),
    ("producer.id.expiration.ms", Kind::Int),
    ("remote.fetch.max.wait.ms", Kind::Int),
    ("remote.list.offsets.request.timeout.ms", Kind::Long),
    ("remote.log.index.file.cache.total.size.bytes", Kind::Long),
    ("remote.log.manager.copier.thread.pool.size", Kind::Int),
    ("remote.log.manager.copy.max.bytes.per.second", Kind::Long),
    ("remote.log.manager.expiration.thread.pool.size", Kind::Int),
    ("remote.log.manager.fetch.max.bytes.per.second", Kind::Long),
    ("remote.log.manager.follower.thread.pool.size", Kind::Int),
    ("remote.log.reader.threads", Kind::Int),
    ("sasl.kerberos.kinit.cmd", Kind::String),
    ("sasl.kerberos.min.time.before.relogin", Kind::Long),
    ("sasl.kerberos.principal.to.local.rules", Kind::List),
    ("sasl.kerberos.service.name", Kind::String),
    ("sasl.kerberos.ticket.renew.jitter", Kind::Double),
    ("sasl.kerberos.ticket.renew.window.factor", Kind::Double),
    ("share.coordinator.cached.buffer.max.bytes", Kind::Int),
    ("transaction.partition.verification.enable", Kind::Boolean),
];

/// The name and the type of a setting without effect.
pub(super) fn without_effect(name: &str) -> Option<(&'static str, Kind)> {
    WITHOUT_EFFECT.iter().copied().find(|(known, _)| *known == name)
}

/// The description of a setting without effect.
pub(super) fn description(name: &str) -> String {
    let reason = match unserved::ignored(name) {
        Some(about) if !is_read_at_start(name) => about,
        _ => READ_AT_START,
    };
    format!("Without effect here: {reason}.")
}

/// Validates a change of a setting that is neither a topic default nor in force at runtime.
pub(super) fn judge(name: &str, value: &str) -> Result<(), Fault> {
    let fault = |reason: &str| Fault { key: name.to_owned(), reason: reason.to_owned() };
    match without_effect(name) {
        Some((_, kind)) if fits(kind, value) => Ok(()),
        Some((_, kind)) => Err(Fault::invalid(name, value, wanted(kind))),
        None if is_read_at_start(name) => Err(fault(READ_AT_START)),
        None => match unserved::judge(name, value) {
            Some(Err(refused)) => Err(refused),
            Some(Ok(about)) => Err(fault(about)),
            None => Err(Fault::unknown(name, LogConfig::names())),
        },
    }
}

fn is_read_at_start(name: &str) -> bool {
    BrokerConfig::definition(name).is_some()
}

fn fits(kind: Kind, value: &str) -> bool {
    let value = value.trim();
    match kind {
        Kind::Boolean => value.parse::<bool>().is_ok(),
        Kind::Int => value.parse::<i32>().is_ok(),
        Kind::Long => value.parse::<i64>().is_ok(),
        Kind::Double => value.parse::<f64>().is_ok(),
        Kind::String | Kind::List => true,
    }
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "true or false",
        Kind::Int | Kind::Long => "a number",
        Kind::Double => "a fraction",
        Kind::String | Kind::List => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::settings::broker::is_live;

    #[test]
    fn each_name_has_a_reason_and_no_effect() {
        assert!(WITHOUT_EFFECT.is_sorted_by(|one, other| one.0 < other.0));
        for (name, _) in WITHOUT_EFFECT {
            assert!(!is_live(name) && LogConfig::definition(name).is_none(), "{name}");
            assert!(is_read_at_start(name) || unserved::ignored(name).is_some(), "{name}");
        }
    }

    #[test]
    fn settings_that_make_a_promise_are_refused() {
        for name in ["ssl.keystore.location", "sasl.enabled.mechanisms", "listeners"] {
            assert!(judge(name, "x").is_err(), "{name}");
        }
        assert!(judge("sasl.kerberos.kinit.cmd", "/usr/bin/kinit").is_ok());
        assert!(judge("log.cleaner.backoff.ms", "7").is_ok());
        let fault = judge("log.cleaner.backoff.ms", "soon").unwrap_err().to_string();
        assert!(fault.contains("'soon'"), "{fault}");
    }
}
