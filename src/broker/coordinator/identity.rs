//! Translation of member identities from the protocol.

use crate::group::{Claim, Generation, InstanceId, MemberId};

/// Translates a member's identity. In the protocol, an empty string is no member id and −1 no
/// generation.
pub(crate) fn claim(member: &str, instance: Option<&str>, generation: i32) -> Claim {
    Claim {
        member_id: member_id(member),
        instance_id: instance.map(InstanceId::from),
        generation: Generation(generation),
    }
}

/// Translates a member id; in the protocol, an empty string is none.
pub(crate) fn member_id(text: &str) -> Option<MemberId> {
    Some(text).filter(|text| !text.is_empty()).map(MemberId::from)
}
