//! The values of `/config/topics/<topic>` and `/config/brokers/<id>`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
