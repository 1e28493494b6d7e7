//! The values of `/config/topics/<topic>`, `/config/brokers/<id>` and `/config/brokers`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::values::{Malformed, decode};

/// Settings by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct ConfigValue {
    version: i32,
    pub(in crate::metadata) config: BTreeMap<String, String>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl ConfigValue {
    pub(in crate::metadata) fn new(config: BTreeMap<String, String>) -> Self {
        Self { version: 1, config, extra: Map::new() }
    }
}

/// The value of `/config/brokers` once it has children; empty before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct BrokerConfigsValue {
    /// The names of the children, all of which must exist: a missing one was deleted by hand.
    pub(in crate::metadata) children: BTreeSet<String>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl BrokerConfigsValue {
    pub(in crate::metadata) fn of(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.is_empty() { Ok(Self::default()) } else { decode(bytes) }
    }
}
