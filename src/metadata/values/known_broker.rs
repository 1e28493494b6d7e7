//! The value of `/streamlog/brokers/<id>`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::{Incarnation, KnownBroker, Registration};

/// The last registration of a broker, kept after its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct KnownBrokerValue {
    version: i32,
    #[serde(default)]
    rack: Option<String>,
    #[serde(default)]
    directory_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starts: Option<u64>,
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

impl KnownBrokerValue {
    /// The value after a registration. Keeps the unknown fields of the value before, and its last
    /// incarnations that have ended and stopped.
    pub(in crate::metadata) fn after(before: Option<Self>, registration: &Registration) -> Self {
        Self {
            version: 1,
            rack: registration.rack.clone(),
            directory_id: registration.directory_id.clone(),
            starts: registration.starts,
            clean_shutdown: registration.clean_shutdown,
            ended: before.as_ref().and_then(|before| before.ended),
            stopped: before.as_ref().and_then(|before| before.stopped),
            extra: before.map(|before| before.extra).unwrap_or_default(),
        }
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
        let KnownBrokerValue { rack, directory_id, starts, clean_shutdown, ended, .. } = value;
        Self { rack, directory_id, starts, clean_shutdown, ended: ended.map(Incarnation) }
    }
}
