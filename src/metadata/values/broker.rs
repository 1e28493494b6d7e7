//! The value of `/brokers/ids/<id>`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::{
    Broker, DirectoryPlace, Incarnation, KeyHash, Listener, LogReport, LogReports, Registration,
};
use crate::metadata::values::{Malformed, decode, encode, is_false};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId};

#[derive(Serialize, Deserialize)]
struct BrokerValue {
    version: i32,
    host: Option<String>,
    port: i32,
    #[serde(default)]
    jmx_port: i32,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    endpoints: Vec<String>,
    #[serde(default)]
    rack: Option<String>,
    #[serde(default)]
    listener_security_protocol_map: BTreeMap<String, String>,
    #[serde(default)]
    features: Map<String, Value>,
    /// The id of the data directory in use; another directory has none of the broker's earlier
    /// data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory_id: Option<String>,
    /// The boot of the broker's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    /// The file system of the data directory, as the machine numbers it in this boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory_device: Option<u64>,
    /// The number of the data directory on the file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory_inode: Option<u64>,
    /// True if the broker had been shut down cleanly before it registered.
    #[serde(default)]
    clean_shutdown: bool,
    /// SHA-256 of the key of this incarnation, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_hash: Option<String>,
    /// The time-out of the session in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_timeout_ms: Option<u64>,
    /// True once the broker has begun to stop.
    #[serde(default, skip_serializing_if = "is_false")]
    stopping: bool,
    /// The partitions of which flushed records were lost, by topic id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lost: BTreeMap<String, Vec<i32>>,
    /// The reports by topic id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    reports: BTreeMap<String, Vec<ReportValue>>,
}

/// The number of a partition, then the fields of its report: a broker may have thousands.
#[derive(Serialize, Deserialize)]
struct ReportValue(i32, i32, i32, i64, i64);

/// Decodes the registration in a node created by this transaction.
pub(in crate::metadata) fn decode_broker(
    id: BrokerId,
    bytes: &[u8],
    created: i64,
) -> Result<Broker, Malformed> {
    let value: BrokerValue = decode(bytes)?;
    let listeners = value.endpoints.iter().map(|endpoint| {
        listener(endpoint, &value.listener_security_protocol_map)
            .ok_or_else(|| Malformed(format!("endpoint {endpoint:?} is not NAME://HOST:PORT")))
    });
    let place = value.directory_device.zip(value.directory_inode);
    let registration = Registration {
        listeners: listeners.collect::<Result<_, _>>()?,
        rack: value.rack,
        directory_id: value.directory_id,
        token: None,
        boot_id: value.boot_id,
        place: place.map(|(device, inode)| DirectoryPlace { device, inode }),
        clean_shutdown: value.clean_shutdown,
        key_hash: value.key_hash.map(|text| key_hash(&text)).transpose()?,
        session_timeout: value.session_timeout_ms.map(Duration::from_millis),
        is_stopping: value.stopping,
        lost: lost(&value.lost)?,
        reports: reports(&value.reports)?,
    };
    Ok(Broker { id, incarnation: Incarnation(created), registration })
}

/// Encodes the registration of a broker at `timestamp_ms`.
pub(in crate::metadata) fn encode_broker(registration: &Registration, timestamp_ms: i64) -> Bytes {
    let listeners = &registration.listeners;
    let first = listeners.first();
    encode(&BrokerValue {
        version: 5,
        host: first.map(|listener| listener.host.clone()),
        port: first.map_or(-1, |listener| i32::from(listener.port)),
        jmx_port: -1,
        timestamp: timestamp_ms.to_string(),
        endpoints: listeners.iter().map(endpoint).collect(),
        rack: registration.rack.clone(),
        listener_security_protocol_map: listeners
            .iter()
            .map(|listener| (listener.name.clone(), listener.security_protocol.clone()))
            .collect(),
        features: Map::new(),
        directory_id: registration.directory_id.clone(),
        boot_id: registration.boot_id.clone(),
        directory_device: registration.place.map(|place| place.device),
        directory_inode: registration.place.map(|place| place.inode),
        clean_shutdown: registration.clean_shutdown,
        key_hash: registration.key_hash.map(|hash| hash.to_string()),
        session_timeout_ms: registration.session_timeout.map(in_millis),
        stopping: registration.is_stopping,
        lost: by_topic(&registration.lost),
        reports: reports_by_topic(&registration.reports),
    })
}

fn lost(
    by_topic: &BTreeMap<String, Vec<i32>>,
) -> Result<BTreeSet<(TopicId, PartitionIndex)>, Malformed> {
    let mut lost = BTreeSet::new();
    for (topic, partitions) in by_topic {
        let id = topic_id("lost", topic)?;
        lost.extend(partitions.iter().map(|index| (id, PartitionIndex(*index))));
    }
    Ok(lost)
}

fn reports(by_topic: &BTreeMap<String, Vec<ReportValue>>) -> Result<LogReports, Malformed> {
    let mut reports = LogReports::new();
    for (topic, partitions) in by_topic {
        let id = topic_id("reports", topic)?;
        for ReportValue(index, epoch, last_epoch, end, floor) in partitions {
            let offset = |name, offset: i64| {
                let negative = || Malformed(format!("reports: the {name} {offset} is negative"));
                Offset::checked(offset).ok_or_else(negative)
            };
            let report = LogReport {
                epoch: LeaderEpoch(*epoch),
                last_epoch: LeaderEpoch(*last_epoch),
                end: offset("end", *end)?,
                floor: offset("floor", *floor)?,
            };
            reports.insert((id, PartitionIndex(*index)), report);
        }
    }
    Ok(reports)
}

fn topic_id(field: &str, text: &str) -> Result<TopicId, Malformed> {
    text.parse().map_err(|_| Malformed(format!("{field}: {text:?} is no topic id")))
}

fn reports_by_topic(reports: &LogReports) -> BTreeMap<String, Vec<ReportValue>> {
    let mut by_topic = BTreeMap::<String, Vec<ReportValue>>::new();
    for ((topic, partition), LogReport { epoch, last_epoch, end, floor }) in reports {
        let value = ReportValue(partition.0, epoch.0, last_epoch.0, end.get(), floor.get());
        by_topic.entry(topic.to_string()).or_default().push(value);
    }
    by_topic
}

fn by_topic(lost: &BTreeSet<(TopicId, PartitionIndex)>) -> BTreeMap<String, Vec<i32>> {
    let mut by_topic = BTreeMap::<String, Vec<i32>>::new();
    for (topic, partition) in lost {
        by_topic.entry(topic.to_string()).or_default().push(partition.0);
    }
    by_topic
}

fn in_millis(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
}

fn key_hash(text: &str) -> Result<KeyHash, Malformed> {
    text.parse().map_err(|_| Malformed(format!("key_hash {text:?} is not a SHA-256 in base64")))
}

fn endpoint(listener: &Listener) -> String {
    let Listener { name, host, port, .. } = listener;
    if host.contains(':') {
        format!("{name}://[{host}]:{port}")
    } else {
        format!("{name}://{host}:{port}")
    }
}

fn listener(endpoint: &str, protocols: &BTreeMap<String, String>) -> Option<Listener> {
    let (name, address) = endpoint.split_once("://")?;
    let (host, port) = address.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    Some(Listener {
        name: name.to_owned(),
        host: bare.unwrap_or(host).to_owned(),
        port: port.parse().ok()?,
        security_protocol: protocols.get(name).cloned().unwrap_or_else(|| name.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_read_as_it_was_written() {
        let listener = |name: &str, host: &str| Listener {
            name: name.to_owned(),
            host: host.to_owned(),
            port: 9092,
            security_protocol: "PLAINTEXT".to_owned(),
        };
        let report = LogReport {
            epoch: LeaderEpoch(7),
            last_epoch: LeaderEpoch(5),
            end: Offset::new(40),
            floor: Offset::new(30),
        };
        let registration = Registration {
            listeners: vec![listener("PLAINTEXT", "127.0.0.1"), listener("INSIDE", "::1")],
            rack: Some("r1".to_owned()),
            directory_id: None,
            token: None,
            boot_id: Some("b1".to_owned()),
            place: Some(DirectoryPlace { device: 66, inode: u64::MAX }),
            clean_shutdown: true,
            key_hash: KeyHash::of(b"key"),
            session_timeout: Some(Duration::from_millis(2500)),
            is_stopping: true,
            lost: [0, 3].map(|index| (TopicId([7; 16]), PartitionIndex(index))).into(),
            reports: [1, 4].map(|index| ((TopicId([7; 16]), PartitionIndex(index)), report)).into(),
        };
        let bytes = encode_broker(&registration, 1_700_000_000_000);
        let broker = decode_broker(BrokerId(3), &bytes, 42).unwrap();
        assert_eq!(broker.registration, registration);
        assert_eq!((broker.id, broker.incarnation), (BrokerId(3), Incarnation(42)));
    }
}
