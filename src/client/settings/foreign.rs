//! Settings of Apache Kafka's client, librdkafka and kafka-python that this client does not have
//! under the same name.
//!
//! Each has another name here, is passed to another call, has a fixed value, or is not supported.
//! None is accepted and then ignored.

/// The treatment of another client's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignSetting {
    /// An alias of the setting with this name.
    Alias(&'static str),
    /// A setting for which this client always behaves as with one of these values; any other value
    /// is refused with the reason.
    Fixed(&'static [&'static str], &'static str),
    /// Refused with the reason.
    Refused(&'static str),
}

use ForeignSetting::{Alias, Fixed, Refused};

const TLS: ForeignSetting = Refused("not served yet: TLS");
const SASL: ForeignSetting = Refused("not served yet: SASL");
const TRANSACTIONS: ForeignSetting = Refused("not served yet: transactions");
const NEXT_PROTOCOL: &str = "not served yet: the group protocol of KIP-848";
const METRICS: ForeignSetting = Refused("not supported: use client.stats() and client.on_event()");
const LOGGING: ForeignSetting = Refused(
    "configured by Python's logging: the logger is 'streamlog.client', its finest level DEBUG",
);
const SERIALIZER: ForeignSetting =
    Refused("a function: key= and value= of client.producer() take it");
const DESERIALIZER: ForeignSetting =
    Refused("a function: key= and value= of client.consumer() take it");
const CALLBACK: ForeignSetting =
    Refused("a function: on_assign= and on_revoke= of client.consumer() take it");
const DELIVERY: ForeignSetting =
    Refused("given per record: producer.send() returns a ticket, and flush() raises what failed");
const RETRIES: ForeignSetting =
    Refused("not counted: delivery.timeout.ms limits the time of retries");
const PARTITIONER: ForeignSetting = Refused("named otherwise: partitioner= of client.producer()");
const BATCH_BYTES: ForeignSetting = Refused("counted in bytes: batch.size");
const SEND_BYTES: ForeignSetting = Refused("counted in bytes: buffer.memory");
const FETCH_BYTES: ForeignSetting = Refused("counted in bytes: fetch.buffer.bytes");
const NONE: ForeignSetting = Refused("has no counterpart here: leave it out");

/// Prefixes of settings' names.
const FAMILIES: &[(&str, ForeignSetting)] = &[
    ("ssl.", TLS),
    ("enable.ssl.", TLS),
    ("sasl.", SASL),
    ("oauth.", SASL),
    ("enable.sasl.", SASL),
    ("https.", SASL),
    ("transaction", TRANSACTIONS),
    ("metric", METRICS),
    ("statistics.", METRICS),
    ("log.", LOGGING),
    ("topic.metadata.", NONE),
    ("metadata.", NONE),
    ("socket.", NONE),
];

/// Full names of settings; these take precedence over prefixes.
const ROWS: &[(&str, ForeignSetting)] = &[
    ("metadata.broker.list", Alias("bootstrap.servers")),
    ("topic.metadata.refresh.interval.ms", Alias("metadata.max.age.ms")),
    ("reconnect.backoff.ms", Alias("retry.backoff.ms")),
    ("reconnect.backoff.max.ms", Alias("retry.backoff.max.ms")),
    ("socket.timeout.ms", Alias("request.timeout.ms")),
    ("request.required.acks", Alias("acks")),
    ("compression.codec", Alias("compression.type")),
    ("compression.gzip.level", Alias("compression.level")),
    ("compression.zstd.level", Alias("compression.level")),
    ("queue.buffering.max.ms", Alias("linger.ms")),
    ("message.max.bytes", Alias("max.request.size")),
    ("message.timeout.ms", Alias("delivery.timeout.ms")),
    ("max.in.flight", Alias("max.in.flight.requests.per.connection")),
    ("fetch.wait.max.ms", Alias("fetch.max.wait.ms")),
    ("fetch.message.max.bytes", Alias("max.partition.fetch.bytes")),
    ("security.protocol", Fixed(&["plaintext"], "not served yet: TLS and SASL")),
    ("security.providers", TLS),
    ("isolation.level", Fixed(&["read_uncommitted"], "not served yet: transactions")),
    ("group.protocol", Fixed(&["classic"], NEXT_PROTOCOL)),
    ("group.remote.assignor", Refused(NEXT_PROTOCOL)),
    ("client.rack", Refused("not served yet: reading from followers")),
    (
        "enable.auto.offset.store",
        Fixed(&["true"], "commit=\"manual\" and consumer.commit(message) store what is done"),
    ),
    ("offset.store.method", Fixed(&["broker"], "offsets are stored on brokers only")),
    ("api.version.request", Fixed(&["true"], "versions are negotiated with each broker")),
    ("api.version", Refused("versions are negotiated with each broker: leave it out")),
    ("api.version.fallback.ms", NONE),
    ("broker.version.fallback", NONE),
    ("key.serializer", SERIALIZER),
    ("value.serializer", SERIALIZER),
    ("key.deserializer", DESERIALIZER),
    ("value.deserializer", DESERIALIZER),
    ("rebalance.cb", CALLBACK),
    ("on.assign", CALLBACK),
    ("on.revoke", CALLBACK),
    ("on.lost", CALLBACK),
    ("on.commit", Refused("not called: consumer.commit() raises what went wrong")),
    ("offset.commit.cb", Refused("not called: consumer.commit() raises what went wrong")),
    ("on.delivery", DELIVERY),
    ("dr.cb", DELIVERY),
    ("dr.msg.cb", DELIVERY),
    ("delivery.report.only.error", DELIVERY),
    ("error.cb", METRICS),
    ("stats.cb", METRICS),
    ("throttle.cb", METRICS),
    ("oauth.cb", SASL),
    ("auto.include.jmx.reporter", METRICS),
    ("enable.metrics.push", METRICS),
    ("logger", LOGGING),
    ("log.cb", LOGGING),
    ("debug", LOGGING),
    ("retries", RETRIES),
    ("message.send.max.retries", RETRIES),
    ("partitioner.class", PARTITIONER),
    ("partitioner.ignore.keys", PARTITIONER),
    ("partitioner.adaptive.partitioning.enable", NONE),
    ("partitioner.availability.timeout.ms", NONE),
    ("sticky.partitioning.linger.ms", NONE),
    ("batch.num.messages", BATCH_BYTES),
    ("queue.buffering.max.messages", SEND_BYTES),
    ("queue.buffering.max.kbytes", SEND_BYTES),
    ("queue.buffering.backpressure.threshold", NONE),
    ("queued.min.messages", FETCH_BYTES),
    ("queued.max.messages.kbytes", FETCH_BYTES),
    ("max.poll.records", Refused("given per loop: max_messages= of consumer.batches()")),
    ("consumer.timeout.ms", Refused("given per loop: timeout= of consumer.take()")),
    ("enable.partition.eof", Refused("given per loop: consumer.until_end() ends at the end")),
    ("exclude.internal.topics", NONE),
    ("interceptor.classes", NONE),
    ("connections.max.idle.ms", NONE),
    ("client.dns.lookup", NONE),
    ("send.buffer.bytes", NONE),
    ("receive.buffer.bytes", NONE),
    ("broker.address.family", NONE),
    ("broker.address.ttl", NONE),
    ("coordinator.query.interval.ms", NONE),
    ("fetch.error.backoff.ms", NONE),
    ("fetch.queue.backoff.ms", NONE),
    ("internal.termination.signal", NONE),
    ("builtin.features", NONE),
    ("plugin.library.paths", NONE),
    ("receive.message.max.bytes", NONE),
    ("message.copy.max.bytes", NONE),
    ("max.in.flight.requests", Alias("max.in.flight.requests.per.connection")),
    ("enable.gapless.guarantee", NONE),
    ("consume.callback.max.messages", NONE),
    ("allow.auto.create", Alias("allow.auto.create.topics")),
    ("bootstrap.controllers", Refused("given as brokers: bootstrap.servers")),
];

/// Returns the treatment of the setting `name`, if another client has it.
pub(super) fn find(name: &str) -> Option<ForeignSetting> {
    let row = ROWS.iter().find(|(known, _)| *known == name);
    let family = || FAMILIES.iter().find(|(start, _)| name.starts_with(start));
    row.or_else(family).map(|(_, found)| *found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientSettings;

    #[test]
    fn every_name_is_listed_once_and_every_alias_exists() {
        let mut names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for (name, found) in ROWS {
            assert!(!ClientSettings::names().any(|own| own == *name), "{name} has a row");
            if let Alias(meant) = found {
                assert!(ClientSettings::names().any(|own| own == *meant), "{name}: {meant}");
            }
        }
    }
}
