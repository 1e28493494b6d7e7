//! The settings of a session with an ensemble.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{SettingValue, settings};
use crate::metadata::zookeeper::ZooKeeperAddress;

settings! {
    /// The settings of a broker that keeps its metadata in ZooKeeper. Without an address, the
    /// broker keeps its metadata in its data directory.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ZooKeeperConfig {
        /// ZooKeeper ensemble that keeps the metadata: HOST:PORT, ...[/CHROOT]; without one, the
        /// broker keeps it in its data directory.
        #[setting("zookeeper.connect", String)]
        address: Option<ZooKeeperAddress> = None,
        /// Milliseconds after which ZooKeeper takes a silent broker for dead.
        #[setting("zookeeper.session.timeout.ms", Int in 1_000..)]
        session_timeout: Duration = Duration::from_secs(6),
        /// True if `streamlog broker` starts a second process that ends its session at once should
        /// it crash.
        #[setting("zookeeper.session.guard", Boolean)]
        guard: bool = true,
        /// File with USER:PASSWORD of the broker in ZooKeeper; with it, other users may read the
        /// metadata but not change it.
        #[setting("zookeeper.digest.file", String)]
        digest_file: Option<PathBuf> = None,
    }
}

/// Empty is `None`.
impl SettingValue for Option<ZooKeeperAddress> {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() { Ok(None) } else { text.parse().map(Some) }
    }

    fn show(&self) -> String {
        self.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// Empty is `None`.
impl SettingValue for Option<PathBuf> {
    fn parse(text: &str) -> Result<Self, String> {
        Ok((!text.is_empty()).then(|| PathBuf::from(text)))
    }

    fn show(&self) -> String {
        self.as_ref().map(|file| file.display().to_string()).unwrap_or_default()
    }
}

/// A user and a password of ZooKeeper's scheme `digest`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
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
