//! Values that exist once in a cluster.

use serde::{Deserialize, Serialize};

use crate::metadata::values::Malformed;
use crate::types::ProducerId;

/// `/streamlog`: marks the tree as streamlog's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct MarkerValue {
    pub(in crate::metadata) format: u32,
}

/// `/cluster/id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct ClusterIdValue {
    pub(in crate::metadata) version: String,
    pub(in crate::metadata) id: String,
}

impl ClusterIdValue {
    pub(in crate::metadata) fn new(id: &str) -> Self {
        Self { version: "1".to_owned(), id: id.to_owned() }
    }
}

/// `/controller`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct ControllerValue {
    version: i32,
    pub(in crate::metadata) brokerid: i32,
    timestamp: String,
    #[serde(rename = "kraftControllerEpoch", default = "no_epoch")]
    kraft_controller_epoch: i32,
}

fn no_epoch() -> i32 {
    -1
}

impl ControllerValue {
    /// The value for a broker that becomes controller at `timestamp_ms`.
    pub(in crate::metadata) fn new(brokerid: i32, timestamp_ms: i64) -> Self {
        let timestamp = timestamp_ms.to_string();
        Self { version: 2, brokerid, timestamp, kraft_controller_epoch: no_epoch() }
    }
}

/// Decodes `/controller_epoch`: a number as text.
pub(in crate::metadata) fn decode_controller_epoch(bytes: &[u8]) -> Result<i32, Malformed> {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let epoch = text.trim().parse().ok().filter(|epoch| (0..i32::MAX).contains(epoch));
    epoch.ok_or_else(|| Malformed("a number from 0 was expected".to_owned()))
}

/// `/latest_producer_id_block`: a reserved block of producer ids, both ends inclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct ProducerIdBlock {
    version: i32,
    broker: i32,
    block_start: String,
    block_end: String,
}

impl ProducerIdBlock {
    pub(in crate::metadata) fn new(broker: i32, first: ProducerId, last: ProducerId) -> Self {
        let (block_start, block_end) = (first.to_string(), last.to_string());
        Self { version: 1, broker, block_start, block_end }
    }

    /// The first id after the block.
    pub(in crate::metadata) fn next(&self) -> Result<ProducerId, Malformed> {
        let end = self.block_end.parse::<i64>().ok().filter(|end| *end >= 0);
        let next = end.and_then(|end| end.checked_add(1)).map(ProducerId);
        next.ok_or_else(|| Malformed(format!("block_end {:?} is no id", self.block_end)))
    }
}
