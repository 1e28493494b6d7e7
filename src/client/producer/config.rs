//! The settings of a producer.

use std::time::Duration;

use crate::client::Partitioner;
use crate::config::{ByteSize, ConfigError, Key, Kind, millis, number, size, switch};
use crate::record::{Compression, Compressor};

const AUDIT_TIER_MAX: usize = 200;

/// The acknowledgement that a broker sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// None: the outcome of a record is unknown.
    None,
    /// After the leader has appended the batch.
    Leader,
    /// After all in-sync replicas have the batch.
    #[default]
    All,
}

impl Acks {
    /// The value used in requests.
    pub(crate) const fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// The settings of a producer.
#[derive(Clone, Debug)]
pub struct ProducerConfig {
    /// The acknowledgement after which a record counts as delivered.
    pub acks: Acks,
    /// True if retries are stored only once; `None` enables this with `acks=all`.
    pub idempotence: Option<bool>,
    /// The compression codec of batches.
    pub compression: Compression,
    /// The codec's compression level; `None` is its default.
    pub compression_level: Option<i32>,
    /// The size at which a batch is sent at once.
    pub batch_size: ByteSize,
    /// The time after which a smaller batch is sent.
    pub linger: Duration,
    /// Maximum size of unacknowledged records; sending waits beyond it.
    pub buffer: ByteSize,
    /// Maximum size of a record and of a request.
    pub request_max: ByteSize,
    /// The time that sending may wait for buffer space, or for a topic's metadata.
    pub send_timeout: Duration,
    /// The time limit for delivering a record.
    pub delivery_timeout: Duration,
    /// Maximum number of unanswered requests per broker.
    pub in_flight_max: usize,
    /// The partitioner.
    pub partitioner: Partitioner,
    /// The audit tier under which delivered records are counted; `None` disables the audit.
    pub audit: Option<String>,
    /// The width of the audit's windows; `None` is ten minutes.
    pub audit_window: Option<Duration>,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            idempotence: None,
            compression: Compression::None,
            compression_level: None,
            batch_size: ByteSize(64 << 10),
            linger: Duration::from_millis(5),
            buffer: ByteSize(64 << 20),
            request_max: ByteSize(1 << 20),
            send_timeout: Duration::from_mins(1),
            delivery_timeout: Duration::from_mins(2),
            in_flight_max: 5,
            partitioner: Partitioner::default(),
            audit: None,
            audit_window: None,
        }
    }
}

impl ProducerConfig {
    /// Every setting of a producer.
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "acks",
            about: "Acknowledgement that brokers send: all, 1 or 0.",
            kind: Kind::String,
            set: |c, text| {
                c.acks = match text.trim() {
                    "all" | "-1" => Acks::All,
                    "1" => Acks::Leader,
                    "0" => Acks::None,
                    _ => return Err("all, 1 or 0".to_owned()),
                };
                Ok(())
            },
            get: |c| if c.acks == Acks::All { "all".to_owned() } else { c.acks.code().to_string() },
        },
        Key {
            name: "enable.idempotence",
            about: "Stores retries only once; needs acks=all. Empty enables it with acks=all.",
            kind: Kind::Boolean,
            set: |c, text| {
                c.idempotence = match text.trim() {
                    "" => None,
                    text => Some(switch(text)?),
                };
                Ok(())
            },
            get: |c| c.idempotence.map(|v| v.to_string()).unwrap_or_default(),
        },
        Key {
            name: "compression.type",
            about: "Compression of batches: none, gzip, snappy, lz4 or zstd.",
            kind: Kind::String,
            set: |c, text| {
                let parsed = text.trim().parse().map(|v| c.compression = v);
                parsed.map_err(|_| "none, gzip, snappy, lz4 or zstd".to_owned())
            },
            get: |c| c.compression.to_string(),
        },
        Key {
            name: "compression.level",
            about: "Level of gzip (1 to 9) or zstd (−131072 to 22); empty for the codec's default.",
            kind: Kind::Int,
            set: |c, text| {
                c.compression_level = match text.trim() {
                    "" => None,
                    text => Some(number(text, -131_072, 22)?),
                };
                Ok(())
            },
            get: |c| c.compression_level.map(|v| v.to_string()).unwrap_or_default(),
        },
        Key {
            name: "batch.size",
            about: "Size in bytes at which a batch is sent at once.",
            kind: Kind::Int,
            set: |c, text| size(text, 1, 16 << 20).map(|v| c.batch_size = v),
            get: |c| c.batch_size.to_string(),
        },
        Key {
            name: "linger.ms",
            about: "Time a smaller batch waits for more records.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.linger = v),
            get: |c| c.linger.as_millis().to_string(),
        },
        Key {
            name: "buffer.memory",
            about: "Maximum size of unacknowledged records; sending waits beyond it.",
            kind: Kind::Long,
            set: |c, text| size(text, 1, u64::MAX).map(|v| c.buffer = v),
            get: |c| c.buffer.to_string(),
        },
        Key {
            name: "max.request.size",
            about: "Maximum size of a record and of a request.",
            kind: Kind::Int,
            set: |c, text| size(text, 1 << 10, 100 << 20).map(|v| c.request_max = v),
            get: |c| c.request_max.to_string(),
        },
        Key {
            name: "max.block.ms",
            about: "Time that sending may wait for buffer space or topic metadata.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.send_timeout = v),
            get: |c| c.send_timeout.as_millis().to_string(),
        },
        Key {
            name: "delivery.timeout.ms",
            about: "Time limit for delivering a record.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.delivery_timeout = v),
            get: |c| c.delivery_timeout.as_millis().to_string(),
        },
        Key {
            name: "partitioner",
            about: "Partitioning strategy: keyed, sticky, random or roundrobin.",
            kind: Kind::String,
            set: |c, text| {
                c.partitioner = match text.trim() {
                    "keyed" | "murmur2_random" => Partitioner::Keyed,
                    "sticky" => Partitioner::Sticky,
                    "random" => Partitioner::Random,
                    "roundrobin" => Partitioner::RoundRobin,
                    _ => return Err("keyed, sticky, random or roundrobin".to_owned()),
                };
                Ok(())
            },
            get: |c| match c.partitioner {
                Partitioner::Keyed => "keyed".to_owned(),
                Partitioner::Sticky => "sticky".to_owned(),
                Partitioner::Random => "random".to_owned(),
                Partitioner::RoundRobin => "roundrobin".to_owned(),
                Partitioner::Own(_) => "custom".to_owned(),
            },
        },
        Key {
            name: "max.in.flight.requests.per.connection",
            about: "Maximum number of unanswered requests per broker.",
            kind: Kind::Int,
            set: |c, text| number(text, 1, 1000).map(|v| c.in_flight_max = v),
            get: |c| c.in_flight_max.to_string(),
        },
        Key {
            name: "audit.tier",
            about: "Counts delivered records under this name and publishes to streamlog.audit.",
            kind: Kind::String,
            set: |c, text| {
                let tier = text.trim();
                if tier.len() > AUDIT_TIER_MAX {
                    return Err(format!("at most {AUDIT_TIER_MAX} bytes, or empty"));
                }
                c.audit = (!tier.is_empty()).then(|| tier.to_owned());
                Ok(())
            },
            get: |c| c.audit.clone().unwrap_or_default(),
        },
        Key {
            name: "audit.window.ms",
            about: "Width of the audit windows; empty for ten minutes.",
            kind: Kind::Long,
            set: |c, text| {
                c.audit_window = match text.trim() {
                    "" => None,
                    text => Some(millis(text, 1)?),
                };
                Ok(())
            },
            get: |c| c.audit_window.map(|v| v.as_millis().to_string()).unwrap_or_default(),
        },
    ];

    /// Returns true if retries are stored only once.
    pub fn is_idempotent(&self) -> bool {
        self.idempotence.unwrap_or(self.acks == Acks::All)
    }

    /// Fails if settings contradict each other.
    ///
    /// # Errors
    /// [`ConfigError`] naming the setting.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.is_idempotent() && self.acks != Acks::All {
            return Err(ConfigError::single(
                "enable.idempotence",
                format!("it needs acks=all, not acks={}", self.acks.code()),
            ));
        }
        if self.is_idempotent() && self.in_flight_max > 5 {
            let reason = "at most 5 with enable.idempotence=true: brokers remember 5 batches";
            return Err(ConfigError::single("max.in.flight.requests.per.connection", reason));
        }
        if self.linger >= self.delivery_timeout {
            let reason = "no shorter than delivery.timeout.ms=: a batch that does not fill would \
                          be given up before it is sent";
            return Err(ConfigError::single("linger.ms", reason));
        }
        if self.audit_window.is_some() && self.audit.is_none() {
            let reason = "given without audit.tier=: nothing is counted";
            return Err(ConfigError::single("audit.window.ms", reason));
        }
        if self.compression_level.is_some() && !self.compression.has_levels() {
            let reason = format!(
                "given with compression.type={}, which has no levels: gzip, lz4 and zstd have",
                self.compression
            );
            return Err(ConfigError::single("compression.level", reason));
        }
        Compressor::new(self.compression, self.compression_level)
            .map(drop)
            .map_err(|error| ConfigError::single("compression.level", error.to_string()))
    }
}
