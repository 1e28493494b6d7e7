//! The settings of a producer.

use std::time::Duration;

use crate::client::Partitioner;
use crate::config::{ByteSize, ConfigError, Kind, SettingValue, settings, within};
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

settings! {
    /// The settings of a producer.
    #[derive(Clone, Debug)]
    pub struct ProducerConfig {
        /// The acknowledgement after which a record counts as delivered: all, 1 or 0.
        #[setting("acks", String)]
        acks: Acks = Acks::All,
        /// True if retries are stored only once, which needs acks=all; `None`, or empty, enables
        /// this with acks=all.
        #[setting("enable.idempotence", Boolean)]
        idempotence: Option<bool> = None,
        /// The compression of batches: none, gzip, snappy, lz4 or zstd.
        #[setting("compression.type", String)]
        compression: Compression = Compression::None,
        /// The level of gzip (1 to 9), lz4 (1 to 17) or zstd (−131072 to 22); `None`, or empty, is
        /// the codec's default.
        #[setting("compression.level", Int)]
        #[with(set_compression_level, shown_compression_level)]
        compression_level: Option<i32> = None,
        /// The size in bytes at which a batch is sent at once.
        #[setting("batch.size", Int in 1..=16 << 20)]
        batch_size: ByteSize = ByteSize(64 << 10),
        /// The time after which a smaller batch is sent.
        #[setting("linger.ms", Long)]
        linger: Duration = Duration::from_millis(5),
        /// Maximum size of unacknowledged records; sending waits beyond it.
        #[setting("buffer.memory", Long in 1..)]
        buffer: ByteSize = ByteSize(64 << 20),
        /// Maximum size of a record and of a request.
        #[setting("max.request.size", Int in 1 << 10..=100 << 20)]
        request_max: ByteSize = ByteSize(1 << 20),
        /// The time that sending may wait for buffer space, or for a topic's metadata.
        #[setting("max.block.ms", Long)]
        send_timeout: Duration = Duration::from_mins(1),
        /// The time limit for delivering a record.
        #[setting("delivery.timeout.ms", Long in 1..)]
        delivery_timeout: Duration = Duration::from_mins(2),
        /// The partitioner: keyed, sticky, random or roundrobin.
        #[setting("partitioner", String)]
        partitioner: Partitioner = Partitioner::default(),
        /// Maximum number of unanswered requests per broker.
        #[setting("max.in.flight.requests.per.connection", Int in 1..=1000)]
        in_flight_max: usize = 5,
        /// The audit tier under which delivered records are counted and published to the topic
        /// streamlog.audit; `None`, or empty, disables the audit.
        #[setting("audit.tier", String)]
        #[with(set_audit, shown_audit)]
        audit: Option<String> = None,
        /// The width of the audit's windows; `None`, or empty, is ten minutes.
        #[setting("audit.window.ms", Long)]
        #[with(set_audit_window, shown_audit_window)]
        audit_window: Option<Duration> = None,
    }
}

impl SettingValue for Acks {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" | "-1" => Ok(Self::All),
            "1" => Ok(Self::Leader),
            "0" => Ok(Self::None),
            _ => Err("all, 1 or 0".to_owned()),
        }
    }

    fn show(&self) -> String {
        if *self == Self::All { "all".to_owned() } else { self.code().to_string() }
    }
}

impl SettingValue for Compression {
    fn parse(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|_| "none, gzip, snappy, lz4 or zstd".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for Partitioner {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "keyed" | "murmur2_random" => Ok(Self::Keyed),
            "sticky" => Ok(Self::Sticky),
            "random" => Ok(Self::Random),
            "roundrobin" => Ok(Self::RoundRobin),
            _ => Err("keyed, sticky, random or roundrobin".to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Keyed => "keyed".to_owned(),
            Self::Sticky => "sticky".to_owned(),
            Self::Random => "random".to_owned(),
            Self::RoundRobin => "roundrobin".to_owned(),
            Self::Own(_) => "custom".to_owned(),
        }
    }
}

fn set_compression_level(config: &mut ProducerConfig, text: &str) -> Result<(), String> {
    config.compression_level = match text.trim() {
        "" => None,
        text => Some(within(text, Kind::Int, -131_072..=22)?),
    };
    Ok(())
}

fn shown_compression_level(config: &ProducerConfig) -> String {
    config.compression_level.map(|level| level.to_string()).unwrap_or_default()
}

fn set_audit(config: &mut ProducerConfig, text: &str) -> Result<(), String> {
    if text.trim().len() > AUDIT_TIER_MAX {
        return Err(format!("at most {AUDIT_TIER_MAX} bytes, or empty"));
    }
    config.audit = SettingValue::parse(text)?;
    Ok(())
}

fn shown_audit(config: &ProducerConfig) -> String {
    config.audit.show()
}

fn set_audit_window(config: &mut ProducerConfig, text: &str) -> Result<(), String> {
    config.audit_window = match text.trim() {
        "" => None,
        text => Some(within(text, Kind::Long, 1..)?),
    };
    Ok(())
}

fn shown_audit_window(config: &ProducerConfig) -> String {
    config.audit_window.map(|window| window.show()).unwrap_or_default()
}

impl ProducerConfig {
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
