//! Cluster settings: defaults and limits for new topics.

use crate::config::{Key, Kind};

/// Defaults and limits of topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataConfig {
    /// The number of partitions of a topic created without one.
    pub num_partitions: i32,
    /// The replication factor of a topic created without one; `None` is 3, or the number of brokers
    /// if that is less.
    pub default_replication_factor: Option<i16>,
    /// The maximum number of partitions of a topic.
    pub topic_partitions_max: i32,
    /// The maximum number of partitions of a broker; `None` until it has been derived from memory.
    pub partitions_max: Option<usize>,
}

/// The memory per partition from which the limit is derived. A partition that was never written to
/// takes less than 1 KiB.
const PARTITION_MEMORY: u64 = 64 << 10;

/// The minimum of a limit derived from memory.
const PARTITIONS_MIN: usize = 1_000;

impl Default for MetadataConfig {
    fn default() -> Self {
        Self {
            num_partitions: 1,
            default_replication_factor: None,
            topic_partitions_max: 10_000,
            partitions_max: None,
        }
    }
}

impl MetadataConfig {
    /// Derives the maximum number of partitions from the memory that the broker may use, unless it
    /// is set.
    #[must_use]
    pub fn limited_by(mut self, memory: Option<u64>) -> Self {
        self.partitions_max.get_or_insert_with(|| {
            let partitions = memory.map_or(0, |memory| memory / PARTITION_MEMORY);
            usize::try_from(partitions).unwrap_or(usize::MAX).max(PARTITIONS_MIN)
        });
        self
    }

    /// The settings as rows.
    pub const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "num.partitions",
            about: "Default number of partitions of a new topic.",
            kind: Kind::Int,
            set: |config, text| at_least_one(text).map(|count| config.num_partitions = count),
            get: |config| config.num_partitions.to_string(),
        },
        Key {
            name: "default.replication.factor",
            about: "Default replication factor of a new topic; -1 is 3 or the number of brokers, \
                    whichever is less.",
            kind: Kind::Int,
            set: |config, text| {
                let factor = if text == "-1" { None } else { Some(at_least_one(text)?) };
                config.default_replication_factor = factor;
                Ok(())
            },
            get: |config| config.default_replication_factor.unwrap_or(-1).to_string(),
        },
        Key {
            name: "max.partitions.per.topic",
            about: "Maximum number of partitions of a topic.",
            kind: Kind::Int,
            set: |config, text| at_least_one(text).map(|count| config.topic_partitions_max = count),
            get: |config| config.topic_partitions_max.to_string(),
        },
        Key {
            name: "max.partitions",
            about: "Maximum number of partitions of this broker; creating more is refused, \
                    existing ones are kept. -1 is memory (of the machine, or of its control \
                    group if that is less) / 64 KiB, at least 1000.",
            kind: Kind::Int,
            set: |config, text| {
                let most = if text == "-1" { None } else { Some(at_least_one(text)?) };
                config.partitions_max = most;
                Ok(())
            },
            get: |config| config.partitions_max.map_or("-1".to_owned(), |most| most.to_string()),
        },
    ];
}

fn at_least_one<N: std::str::FromStr + PartialOrd + Default>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| "a number from 1".to_owned())
}
