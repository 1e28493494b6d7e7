//! The settings of a session with an ensemble.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Key, Kind, millis};
use crate::metadata::zookeeper::ZooKeeperAddress;

/// The settings of a broker that keeps its metadata in ZooKeeper. Without an address it keeps it
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZooKeeperConfig {
    /// The ensemble.
    pub address: Option<ZooKeeperAddress>,
    /// The time after which the ensemble ends a session that it does not hear of.
    pub session_timeout: Duration,
    /// A file with the user and the password of the broker.
    pub digest_file: Option<PathBuf>,
}

/// A user and a password of ZooKeeper's scheme `digest`.
#[derive(Clone, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    /// Reads `USER:PASSWORD`; `None` if there is no colon.
    pub fn parse(text: &str) -> Option<Self> {
        text.contains(':').then(|| Self(text.to_owned()))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Hides the password, which must not get into a log.
impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(..)")
    }
}

impl Default for ZooKeeperConfig {
    fn default() -> Self {
        Self { address: None, session_timeout: Duration::from_secs(6), digest_file: None }
    }
}

impl ZooKeeperConfig {
    /// The settings as rows.
    pub const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "zookeeper.connect",
            about: "ZooKeeper ensemble that keeps the metadata: HOST:PORT, ...[/CHROOT]; without \
                    one, the broker keeps it in its data directory.",
            kind: Kind::String,
            set: |config, text| {
                config.address = if text.trim().is_empty() { None } else { Some(text.parse()?) };
                Ok(())
            },
            get: |config| config.address.as_ref().map_or(String::new(), ToString::to_string),
        },
        Key {
            name: "zookeeper.session.timeout.ms",
            about: "Milliseconds after which ZooKeeper takes a silent broker for dead.",
            kind: Kind::Int,
            set: |config, text| millis(text, 1_000).map(|time| config.session_timeout = time),
            get: |config| config.session_timeout.as_millis().to_string(),
        },
        Key {
            name: "zookeeper.digest.file",
            about: "File with USER:PASSWORD of the broker in ZooKeeper; with it, other users may \
                    read the metadata but not change it.",
            kind: Kind::String,
            set: |config, text| {
                config.digest_file = (!text.is_empty()).then(|| PathBuf::from(text));
                Ok(())
            },
            get: |config| {
                let file = config.digest_file.as_ref();
                file.map_or(String::new(), |file| file.display().to_string())
            },
        },
    ];
}
