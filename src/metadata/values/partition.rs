//! The value of `/brokers/topics/<topic>/partitions/<p>/state`.
//!
//! It has Kafka's fields and adds incarnations: without them, a broker that restarts could continue
//! to lead in its old epoch with a shorter log.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::{Incarnation, IsrMember, PartitionState};
use crate::metadata::values::{Malformed, decode, encode};
use crate::types::{BrokerId, LeaderEpoch};

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
    /// In the order of `isr`.
    #[serde(default)]
    isr_incarnations: Option<Vec<i64>>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// Decodes the state in a node of this version.
pub(in crate::metadata) fn decode_state(
    bytes: &[u8],
    version: i32,
) -> Result<PartitionState, Malformed> {
    let value: StateValue = decode(bytes)?;
    let unknown = || vec![Incarnation::UNKNOWN.0; value.isr.len()];
    let incarnations = value.isr_incarnations.unwrap_or_else(unknown);
    if incarnations.len() != value.isr.len() {
        return Err(Malformed("isr and isr_incarnations differ in length".to_owned()));
    }
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
        version,
        extra: value.extra,
    })
}

/// Encodes a state written in this controller epoch.
pub(in crate::metadata) fn encode_state(state: &PartitionState, controller_epoch: i32) -> Bytes {
    encode(&StateValue {
        version: 1,
        leader: state.leader.map_or(NO_LEADER, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        controller_epoch,
        isr: state.isr.iter().map(|member| member.broker.0).collect(),
        leader_incarnation: Some(state.leader_incarnation.0),
        isr_incarnations: Some(state.isr.iter().map(|member| member.incarnation.0).collect()),
        extra: state.extra.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_kafka_wrote_is_read_and_its_unknown_fields_are_kept() {
        let kafka = br#"{"version":1,"leader":1,"leader_epoch":7,"controller_epoch":3,
            "isr":[1,2],"leader_recovery_state":0,"elr":[4]}"#;
        let state = decode_state(kafka, 5).unwrap();
        assert_eq!(state.leader, Some(BrokerId(1)));
        assert_eq!(state.leader_epoch, LeaderEpoch(7));
        assert_eq!(state.leader_incarnation, Incarnation::UNKNOWN);
        assert_eq!((state.isr.len(), state.version), (2, 5));

        let rewritten = encode_state(&state, 4);
        let value: Value = serde_json::from_slice(&rewritten).unwrap();
        assert_eq!(value["leader_recovery_state"], 0);
        assert_eq!(value["elr"], serde_json::json!([4]));
        assert_eq!(value["controller_epoch"], 4);
        assert_eq!(decode_state(&rewritten, 5).unwrap(), state);
    }
}
