//! Settings of Apache Kafka's brokers that have no meaning here, so that an existing
//! `server.properties` can be used: tuning settings are ignored, settings that make a promise are
//! refused.
//!
//! A setting is refused if a broker that ignored it would be less safe, or keep other data, than
//! its file says. The names are those of Kafka 4 and of earlier versions that are still found in
//! files. A name that ends in `.*` stands for all names with that prefix.

use crate::config::Fault;

/// Settings that are treated alike.
pub(crate) struct Family {
    /// The reason why they are ignored or refused.
    pub(crate) about: &'static str,
    /// The names.
    pub(crate) names: &'static [&'static str],
}

/// A setting that can only have one value: it is ignored if it has this value.
pub(crate) struct Settled {
    /// The name.
    pub(crate) name: &'static str,
    /// The only possible value, and the reason why no other is possible.
    pub(crate) about: &'static str,
    is_so: fn(&str) -> bool,
}

/// The ignored settings: no guarantee depends on them.
pub(crate) const IGNORED: &[Family] = &[
    Family {
        about: "threads and queues are few and sized by the machine",
        names: &[
            "background.threads",
            "group.coordinator.append.linger.ms",
            "group.coordinator.cached.buffer.max.bytes",
            "group.coordinator.threads",
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.io.buffer.size",
            "log.cleaner.threads",
            "num.io.threads",
            "num.replica.alter.log.dirs.threads",
            "offsets.load.buffer.size",
            "queued.max.requests",
        ],
    },
    Family {
        about: "the system chooses the buffers of sockets",
        names: &[
            "socket.connection.setup.timeout.max.ms",
            "socket.connection.setup.timeout.ms",
            "socket.listen.backlog.size",
            "socket.receive.buffer.bytes",
            "socket.send.buffer.bytes",
        ],
    },
    Family {
        about: "waiting requests are completed by events, so there is nothing to purge",
        names: &[
            "delete.records.purgatory.purge.interval.requests",
            "fetch.purgatory.purge.interval.requests",
            "producer.purgatory.purge.interval.requests",
            "share.fetch.purgatory.purge.interval.requests",
        ],
    },
    Family {
        about: "the request limits the size of its response, and memory is bounded by other \
                settings",
        names: &["fetch.max.bytes", "max.request.partition.size.limit"],
    },
    Family {
        about: "flushes and checkpoints are scheduled on demand",
        names: &[
            "log.dir.failure.timeout.ms",
            "log.flush.offset.checkpoint.interval.ms",
            "log.flush.scheduler.interval.ms",
            "log.flush.start.offset.checkpoint.interval.ms",
            "log.initial.task.delay.ms",
            "producer.id.expiration.check.interval.ms",
            "replica.high.watermark.checkpoint.interval.ms",
        ],
    },
    Family {
        about: "a follower has one connection for each leader; a broker that stops always hands \
                its partitions over, and preferred leaders return as soon as they are in sync",
        names: &[
            "controlled.shutdown.enable",
            "controlled.shutdown.max.retries",
            "controlled.shutdown.retry.backoff.ms",
            "eligible.leader.replicas.enable",
            "follower.fetch.last.tiered.offset.enable",
            "leader.imbalance.check.interval.seconds",
            "leader.imbalance.per.broker.percentage",
            "num.replica.fetchers",
            "replica.fetch.min.bytes",
            "replica.selector.class",
            "replica.socket.receive.buffer.bytes",
            "request.timeout.ms",
            "security.inter.broker.protocol",
            "unclean.leader.election.interval.ms",
        ],
    },
    Family {
        about: "the metadata needs no quorum of controllers: a broker on its own keeps it in its \
                data directory, and several brokers share it in ZooKeeper",
        names: &[
            "broker.heartbeat.interval.ms",
            "broker.id.generation.enable",
            "broker.session.timeout.ms",
            "controller.listener.names",
            "controller.performance.always.log.threshold.ms",
            "controller.performance.sample.period.ms",
            "controller.quorum.append.linger.ms",
            "controller.quorum.auto.join.enable",
            "controller.quorum.election.backoff.max.ms",
            "controller.quorum.election.timeout.ms",
            "controller.quorum.fetch.timeout.ms",
            "controller.quorum.request.timeout.ms",
            "controller.quorum.retry.backoff.ms",
            "controller.socket.timeout.ms",
            "early.start.listeners",
            "initial.broker.registration.timeout.ms",
            "metadata.log.dir",
            "metadata.log.max.record.bytes.between.snapshots",
            "metadata.log.max.snapshot.interval.ms",
            "metadata.log.segment.bytes",
            "metadata.log.segment.min.bytes",
            "metadata.log.segment.ms",
            "metadata.max.idle.interval.ms",
            "metadata.max.retention.bytes",
            "metadata.max.retention.ms",
            "reserved.broker.max.id",
            "server.max.startup.time.ms",
        ],
    },
    Family {
        about: "transactions are not supported, and requests for them are refused",
        names: &[
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            "transaction.max.timeout.ms",
            "transaction.partition.verification.enable",
            "transaction.remove.expired.transaction.cleanup.interval.ms",
            "transaction.state.log.load.buffer.size",
            "transaction.state.log.min.isr",
            "transaction.state.log.num.partitions",
            "transaction.state.log.replication.factor",
            "transaction.state.log.segment.bytes",
            "transaction.two.phase.commit.enable",
            "transactional.id.expiration.ms",
        ],
    },
    Family {
        about: "groups are of the classic type, which is the default of clients",
        names: &[
            "errors.deadletterqueue.*",
            "group.consumer.*",
            "group.coordinator.new.enable",
            "group.coordinator.rebalance.protocols",
            "group.share.*",
            "group.streams.*",
            "share.coordinator.*",
            "share.fetch.max.fetch.records",
        ],
    },
    Family {
        about: "Kerberos is not supported, and the setting that enables it is refused",
        names: &["sasl.kerberos.*"],
    },
    Family {
        about: "the topic of committed offsets is stored without recompression",
        names: &["offsets.topic.compression.codec"],
    },
    Family {
        about: "tiered storage is not supported",
        names: &[
            "log.local.retention.bytes",
            "log.local.retention.ms",
            "log.remote.copy.lag.bytes",
            "log.remote.copy.lag.ms",
            "remote.fetch.max.wait.ms",
            "remote.list.offsets.request.timeout.ms",
            "remote.log.*",
            "rlmm.config.*",
            "rsm.config.*",
        ],
    },
    Family {
        about: "quotas are not supported, and requests to set one are refused",
        names: &[
            "alter.log.dirs.replication.quota.window.num",
            "alter.log.dirs.replication.quota.window.size.seconds",
            "controller.quota.window.num",
            "controller.quota.window.size.seconds",
            "quota.window.num",
            "quota.window.size.seconds",
            "replication.quota.window.num",
            "replication.quota.window.size.seconds",
        ],
    },
    Family {
        about: "there is no Java virtual machine whose metrics could be reported",
        names: &[
            "auto.include.jmx.reporter",
            "kafka.metrics.polling.interval.secs",
            "kafka.metrics.reporters",
            "metric.reporters",
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
            "telemetry.max.bytes",
        ],
    },
    Family {
        about: "the protocol needs no version setting, and the storage format has one version",
        names: &[
            "inter.broker.protocol.version",
            "log.message.downconversion.enable",
            "log.message.format.version",
            "unstable.api.versions.enable",
            "unstable.feature.versions.enable",
        ],
    },
];

/// The refused settings: a broker that ignored one would not behave as its file says.
pub(crate) const REFUSED: &[Family] = &[
    Family {
        about: "encryption, passwords and rules are not served yet: a broker that ignored them \
                would be open to everybody who reaches it",
        names: &[
            "allow.everyone.if.no.acl.found",
            "authorizer.class.name",
            "connection.failed.authentication.delay.ms",
            "connections.max.reauth.ms",
            "delegation.token.*",
            "listener.name.*",
            "password.encoder.*",
            "principal.builder.class",
            "sasl.*",
            "security.providers",
            "ssl.*",
            "super.users",
        ],
    },
    Family {
        about: "Java classes cannot be loaded, so everything that they would forbid would be \
                allowed",
        names: &[
            "alter.config.policy.class.name",
            "client.quota.callback.class",
            "create.topic.policy.class.name",
        ],
    },
    Family {
        about: "values are literal: configuration providers are not supported",
        names: &["config.providers", "config.providers.*"],
    },
    Family {
        about: "limits apply to all addresses alike: use max.connections.per.ip and \
                max.connections",
        names: &["max.connection.creation.rate", "max.connections.per.ip.overrides"],
    },
    Family {
        about: "no listener is for the controller alone: brokers follow the metadata store",
        names: &["control.plane.listener.name"],
    },
    Family {
        about: "of ZooKeeper's settings there are zookeeper.connect, \
                zookeeper.session.timeout.ms and, for access control, zookeeper.digest.file",
        names: &["zookeeper.*"],
    },
    Family {
        about: "Kafka 4 has no such setting: log.message.timestamp.before.max.ms and \
                log.message.timestamp.after.max.ms say it",
        names: &["log.message.timestamp.difference.max.ms"],
    },
];

/// The settings that are ignored if they have the only supported value.
pub(crate) const SETTLED: &[Settled] = &[
    Settled {
        name: "controller.quorum.bootstrap.servers",
        about: "there is no controller quorum: one address at most; several brokers share a \
                ZooKeeper, by zookeeper.connect",
        is_so: is_one,
    },
    Settled {
        name: "controller.quorum.voters",
        about: "there is no controller quorum: one address at most; several brokers share a \
                ZooKeeper, by zookeeper.connect",
        is_so: is_one,
    },
    Settled {
        name: "delete.topic.enable",
        about: "topics can be deleted: only true",
        is_so: |value| value == "true",
    },
    Settled {
        name: "log.cleaner.enable",
        about: "topics that ask for compaction are compacted: only true",
        is_so: |value| value == "true",
    },
    Settled {
        name: "process.roles",
        about: "one process is broker and controller: only broker,controller",
        is_so: |value| {
            let mut roles: Vec<&str> = value.split(',').map(str::trim).collect();
            roles.sort_unstable();
            roles == ["broker", "controller"]
        },
    },
    Settled {
        name: "remote.log.storage.system.enable",
        about: "tiered storage is not supported: only false",
        is_so: |value| value == "false",
    },
];

/// The reason why a setting is ignored, or its refusal; `None` if Kafka has no such setting.
pub(crate) fn judge(name: &str, value: &str) -> Option<Result<&'static str, Fault>> {
    let refused = |about: &str| Fault { key: name.to_owned(), reason: about.to_owned() };
    if let Some(row) = SETTLED.iter().find(|row| row.name == name) {
        let is_so = (row.is_so)(value.trim());
        return Some(if is_so { Ok(row.about) } else { Err(refused(row.about)) });
    }
    let find = |families: &'static [Family]| families.iter().find(|family| family.has(name));
    ignored(name).map(Ok).or_else(|| find(REFUSED).map(|family| Err(refused(family.about))))
}

/// The reason why a tuning setting is ignored; `None` for any other setting.
pub(crate) fn ignored(name: &str) -> Option<&'static str> {
    IGNORED.iter().find(|family| family.has(name)).map(|family| family.about)
}

/// The names without wildcards.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let families = IGNORED.iter().chain(REFUSED).flat_map(|family| family.names).copied();
    families.filter(|name| !name.ends_with('*')).chain(SETTLED.iter().map(|row| row.name))
}

impl Family {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *known == name,
        })
    }
}

fn is_one(value: &str) -> bool {
    !value.contains(',')
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::broker::BrokerConfig;

    #[test]
    fn each_name_occurs_once_and_is_not_honoured() {
        let mut seen: HashSet<&str> = BrokerConfig::all_names().collect();
        for name in names() {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn tuning_settings_are_ignored_and_protective_ones_refused() {
        assert!(judge("num.io.threads", "8").unwrap().is_ok());
        assert!(judge("group.share.max.size", "8").unwrap().is_ok());
        assert!(judge("sasl.kerberos.kinit.cmd", "/usr/bin/kinit").unwrap().is_ok());
        assert!(judge("sasl.enabled.mechanisms", "GSSAPI").unwrap().is_err());
        let fault = judge("ssl.keystore.location", "/etc/key").unwrap().unwrap_err();
        assert!(fault.reason.contains("open to everybody"), "{fault}");
        assert!(judge("num.io.thread", "8").is_none());
    }

    #[test]
    fn settings_with_the_only_supported_value_are_accepted() {
        let is_ignored = |name, value| judge(name, value).unwrap().is_ok();
        assert!(is_ignored("process.roles", "controller, broker"));
        assert!(!is_ignored("process.roles", "broker"));
        assert!(is_ignored("controller.quorum.voters", "1@localhost:9093"));
        assert!(!is_ignored("controller.quorum.voters", "1@a:9093,2@b:9093"));
        assert!(!is_ignored("remote.log.storage.system.enable", "true"));
        assert!(!is_ignored("delete.topic.enable", "false"));
    }
}
