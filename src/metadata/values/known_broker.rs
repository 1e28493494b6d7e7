//! The value of `/streamlog/brokers/<id>`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::{Incarnation, KnownBroker, Registration};

/// The maximum number of data directories that are remembered.
const DIRECTORIES_MAX: usize = 32;

/// The last registration of a broker, kept after its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct KnownBrokerValue {
    version: i32,
    #[serde(default)]
    rack: Option<String>,
    #[serde(default)]
    directory_id: Option<String>,
    /// The data directories with which the broker has registered, the last one at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    directories: Vec<DirectoryValue>,
    #[serde(default)]
    clean_shutdown: bool,
    /// The last incarnation whose process is known to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<i64>,
    /// The last incarnation that has stopped in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<i64>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// A data directory with which a broker has registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DirectoryValue {
    id: String,
    /// The token of the last registration with it.
    token: String,
}

impl KnownBrokerValue {
    /// The value after a registration. Keeps the unknown fields of the value before, and its last
    /// incarnations that have ended and stopped.
    pub(in crate::metadata) fn after(before: Option<Self>, registration: &Registration) -> Self {
        let mut directories =
            before.as_ref().map(|before| before.directories.clone()).unwrap_or_default();
        if let (Some(id), Some(token)) = (&registration.directory_id, &registration.token) {
            directories.retain(|directory| directory.id != *id);
            directories.push(DirectoryValue { id: id.clone(), token: token.clone() });
            directories.drain(..directories.len().saturating_sub(DIRECTORIES_MAX));
        }
        Self {
            version: 1,
            rack: registration.rack.clone(),
            directory_id: registration.directory_id.clone(),
            directories,
            clean_shutdown: registration.clean_shutdown,
            ended: before.as_ref().and_then(|before| before.ended),
            stopped: before.as_ref().and_then(|before| before.stopped),
            extra: before.map(|before| before.extra).unwrap_or_default(),
        }
    }

    /// The token of the last registration with a data directory.
    pub(in crate::metadata) fn token_of(&self, directory_id: &str) -> Option<&str> {
        let mut directories = self.directories.iter();
        directories.find(|known| known.id == directory_id).map(|known| known.token.as_str())
    }

    /// The value once the process of this incarnation is known to have ended.
    #[must_use]
    pub(in crate::metadata) fn with_end(self, Incarnation(ended): Incarnation) -> Self {
        Self { ended: self.ended.max(Some(ended)), ..self }
    }

    /// The value once the process of this incarnation has stopped in order.
    #[must_use]
    pub(in crate::metadata) fn with_stop(self, incarnation: Incarnation) -> Self {
        let stopped = self.stopped.max(Some(incarnation.0));
        Self { stopped, ..self.with_end(incarnation) }
    }

    /// Returns true if this incarnation, or a later one, has stopped in order.
    pub(in crate::metadata) fn has_stopped(&self, Incarnation(incarnation): Incarnation) -> bool {
        self.stopped.is_some_and(|stopped| stopped >= incarnation)
    }
}

impl From<KnownBrokerValue> for KnownBroker {
    fn from(value: KnownBrokerValue) -> Self {
        let KnownBrokerValue { rack, directory_id, directories, clean_shutdown, ended, .. } = value;
        let tokens = directories.into_iter().map(|directory| (directory.id, directory.token));
        let (tokens, ended) = (tokens.collect(), ended.map(Incarnation));
        Self { rack, directory_id, tokens, clean_shutdown, ended }
    }
}
