//! The value of `/brokers/topics/<topic>/partitions/<p>/state`.
//!
//! It has Kafka's fields and adds incarnations: without them, a broker that restarts could continue
//! to lead in its old epoch with a shorter log.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::{
    Caching, DirectoryId, EligibleReplica, Incarnation, IsrMember, LogExtent, Loss, PartitionState,
};
use crate::metadata::store::Node;
use crate::metadata::values::{Malformed, decode, encode, is_false};
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// Kafka's value for a partition without a leader.
const NO_LEADER: i32 = -1;

#[derive(Serialize, Deserialize)]
struct StateValue {
    version: i32,
    leader: i32,
    leader_epoch: i32,
    controller_epoch: i32,
    isr: Vec<i32>,
    #[serde(default)]
    leader_incarnation: Option<i64>,
    /// The incarnation of each member, in the order of `isr`.
    #[serde(default)]
    isr_incarnations: Option<Vec<i64>>,
    /// The data directory of each member, in the order of `isr`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    isr_directories: Vec<Option<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    eligible: Vec<EligibleValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<EligibleValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_isr: Option<usize>,
    #[serde(default, skip_serializing_if = "is_false")]
    handed_over: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<LossValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unvouched: Option<ExtentValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caching: Option<CachingValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caching_ended: Option<i32>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct EligibleValue {
    broker: i32,
    directory: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incarnation: Option<i64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct LossValue {
    generation: i32,
    leader_epoch: i32,
    from: i64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CachingValue {
    Ending,
    On,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct ExtentValue {
    last_epoch: i32,
    end: i64,
}

/// Decodes the state in a node.
pub(in crate::metadata) fn decode_state(node: &Node) -> Result<PartitionState, Malformed> {
    let value: StateValue = decode(&node.value)?;
    let unknown = || vec![Incarnation::UNKNOWN.0; value.isr.len()];
    let incarnations = value.isr_incarnations.unwrap_or_else(unknown);
    if incarnations.len() != value.isr.len() {
        return Err(Malformed("isr and isr_incarnations differ in length".to_owned()));
    }
    let mut directories: Vec<Option<DirectoryId>> =
        value.isr_directories.into_iter().map(|id| id.map(DirectoryId::from)).collect();
    if !directories.is_empty() && directories.len() != value.isr.len() {
        return Err(Malformed("isr and isr_directories differ in length".to_owned()));
    }
    directories.resize(value.isr.len(), None);
    if !(0..i32::MAX).contains(&value.leader_epoch) {
        return Err(Malformed(format!("leader_epoch {} is none", value.leader_epoch)));
    }
    let isr = value.isr.iter().zip(incarnations).map(|(broker, incarnation)| IsrMember {
        broker: BrokerId(*broker),
        incarnation: Incarnation(incarnation),
    });
    Ok(PartitionState {
        leader: Some(BrokerId(value.leader)).filter(|leader| leader.0 != NO_LEADER),
        leader_incarnation: value.leader_incarnation.map_or(Incarnation::UNKNOWN, Incarnation),
        leader_epoch: LeaderEpoch(value.leader_epoch),
        isr: isr.collect(),
        directories,
        eligible: value.eligible.into_iter().map(eligible).collect(),
        damaged: value.damaged.into_iter().map(eligible).collect(),
        minimum: value.min_isr,
        is_handed_over: value.handed_over,
        loss: value.loss.map(loss).transpose()?,
        unvouched: value.unvouched.map(extent).transpose()?,
        caching: match value.caching {
            None => Caching::Off,
            Some(CachingValue::Ending) => Caching::Ending,
            Some(CachingValue::On) => Caching::On,
        },
        caching_ended: value.caching_ended.map(LeaderEpoch),
        created: node.created,
        version: node.version,
        controller_epoch: value.controller_epoch,
        extra: value.extra,
    })
}

fn eligible(EligibleValue { broker, directory, incarnation }: EligibleValue) -> EligibleReplica {
    let incarnation = incarnation.map(Incarnation);
    EligibleReplica { broker: BrokerId(broker), directory: directory.into(), incarnation }
}

fn loss(value: LossValue) -> Result<Loss, Malformed> {
    let LossValue { generation, leader_epoch, from } = value;
    let negative = || Malformed(format!("the offset {from} of the loss is negative"));
    let from = Offset::checked(from).ok_or_else(negative)?;
    Ok(Loss { generation, leader_epoch: LeaderEpoch(leader_epoch), from })
}

fn extent(ExtentValue { last_epoch, end }: ExtentValue) -> Result<LogExtent, Malformed> {
    let negative = || Malformed(format!("the end {end} of the leader's log is negative"));
    let end = Offset::checked(end).ok_or_else(negative)?;
    Ok(LogExtent { last_epoch: LeaderEpoch(last_epoch), end })
}

/// Encodes a state.
pub(in crate::metadata) fn encode_state(state: &PartitionState) -> Bytes {
    let directories = state.directories.iter().map(|id| id.as_deref().map(str::to_owned));
    let has_directory = state.directories.iter().any(Option::is_some);
    let encoded = |replica: &EligibleReplica| EligibleValue {
        broker: replica.broker.0,
        directory: replica.directory.to_string(),
        incarnation: replica.incarnation.map(|Incarnation(created)| created),
    };
    encode(&StateValue {
        version: 1,
        leader: state.leader.map_or(NO_LEADER, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        controller_epoch: state.controller_epoch,
        isr: state.isr.iter().map(|member| member.broker.0).collect(),
        leader_incarnation: Some(state.leader_incarnation.0),
        isr_incarnations: Some(state.isr.iter().map(|member| member.incarnation.0).collect()),
        isr_directories: if has_directory { directories.collect() } else { Vec::new() },
        eligible: state.eligible.iter().map(encoded).collect(),
        damaged: state.damaged.iter().map(encoded).collect(),
        min_isr: state.minimum,
        handed_over: state.is_handed_over,
        loss: state.loss.map(|Loss { generation, leader_epoch, from }| LossValue {
            generation,
            leader_epoch: leader_epoch.0,
            from: from.get(),
        }),
        unvouched: state.unvouched.map(|LogExtent { last_epoch: LeaderEpoch(last_epoch), end }| {
            ExtentValue { last_epoch, end: end.get() }
        }),
        caching: match state.caching {
            Caching::Off => None,
            Caching::Ending => Some(CachingValue::Ending),
            Caching::On => Some(CachingValue::On),
        },
        caching_ended: state.caching_ended.map(|LeaderEpoch(epoch)| epoch),
        extra: state.extra.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(value: &[u8]) -> Node {
        let value = Bytes::copy_from_slice(value);
        Node { value, version: 5, created: 3, owner: None }
    }

    #[test]
    fn a_state_that_kafka_wrote_is_read_and_its_unknown_fields_are_kept() {
        let kafka = br#"{"version":1,"leader":1,"leader_epoch":7,"controller_epoch":3,
            "isr":[1,2],"leader_recovery_state":0,"elr":[4]}"#;
        let state = decode_state(&node(kafka)).unwrap();
        assert_eq!(state.leader, Some(BrokerId(1)));
        assert_eq!(state.leader_epoch, LeaderEpoch(7));
        assert_eq!(state.leader_incarnation, Incarnation::UNKNOWN);
        assert_eq!((state.isr.len(), state.created, state.version), (2, 3, 5));
        assert_eq!((state.minimum, state.eligible.len()), (None, 0));

        let rewritten = encode_state(&state);
        let value: Value = serde_json::from_slice(&rewritten).unwrap();
        assert_eq!(value["leader_recovery_state"], 0);
        assert_eq!(value["elr"], serde_json::json!([4]));
        assert_eq!(value["controller_epoch"], 3);
        assert!(value.get("eligible").is_none() && value.get("isr_directories").is_none());
        assert_eq!(decode_state(&node(&rewritten)).unwrap(), state);
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let kafka =
            br#"{"version":1,"leader":1,"leader_epoch":7,"controller_epoch":3,"isr":[1,2]}"#;
        let mut state = decode_state(&node(kafka)).unwrap();
        state.directories = vec![None, Some("d2".into())];
        let replica = |id, directory: &str, incarnation| EligibleReplica {
            broker: BrokerId(id),
            directory: directory.into(),
            incarnation,
        };
        state.eligible = vec![replica(3, "d3", Some(Incarnation(30)))];
        state.damaged = vec![replica(2, "d2", None)];
        state.minimum = Some(2);
        state.is_handed_over = true;
        let (leader_epoch, from) = (LeaderEpoch(7), Offset::new(12));
        state.loss = Some(Loss { generation: 2, leader_epoch, from });
        state.caching = Caching::Ending;
        state.caching_ended = Some(LeaderEpoch(5));
        state.unvouched = Some(LogExtent { last_epoch: LeaderEpoch(6), end: Offset::new(12) });
        assert_eq!(decode_state(&node(&encode_state(&state))).unwrap(), state);
        let short = br#"{"version":1,"leader":1,"leader_epoch":7,"controller_epoch":3,
            "isr":[1,2],"isr_directories":["a"]}"#;
        assert!(decode_state(&node(short)).is_err());
    }
}
