//! Records as the protocol has them, and as rskafka has them.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rskafka::chrono::{DateTime, Utc};
use rskafka::record::{Record, RecordAndOffset};
use serde::{Deserialize, Serialize};

use crate::Refusal;

/// A record; its bytes are base64.
#[derive(Deserialize, Serialize)]
pub(crate) struct Row {
    pub(crate) partition: i32,
    offset: Option<i64>,
    key: Option<String>,
    value: Option<String>,
    headers: Vec<(String, Option<String>)>,
    timestamp: Option<i64>,
}

impl Row {
    /// The record to be sent. Headers are a map of bytes here: no name twice, and none without
    /// a value.
    pub(crate) fn record(&self) -> Result<Record, Refusal> {
        let mut headers = BTreeMap::new();
        for (name, value) in &self.headers {
            let Some(value) = value else {
                return Err(Refusal::unsupported("headers without a value"));
            };
            if headers.insert(name.clone(), unpack(value)?).is_some() {
                return Err(Refusal::unsupported("repeated headers"));
            }
        }
        Ok(Record {
            key: self.key.as_deref().map(unpack).transpose()?,
            value: self.value.as_deref().map(unpack).transpose()?,
            headers,
            timestamp: self.timestamp.and_then(DateTime::from_timestamp_millis).unwrap_or_else(now),
        })
    }

    /// A record as it was read.
    pub(crate) fn of(found: RecordAndOffset, partition: i32) -> Self {
        let RecordAndOffset { record, offset } = found;
        Self {
            partition,
            offset: Some(offset),
            key: record.key.map(|key| STANDARD.encode(key)),
            value: record.value.map(|value| STANDARD.encode(value)),
            headers: record
                .headers
                .into_iter()
                .map(|(name, value)| (name, Some(STANDARD.encode(value))))
                .collect(),
            timestamp: Some(record.timestamp.timestamp_millis()),
        }
    }
}

fn now() -> DateTime<Utc> {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis())
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .unwrap_or_default()
}

fn unpack(text: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text).map_err(|error| Refusal::malformed(&error))
}
