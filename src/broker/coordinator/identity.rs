//! Who a request says it comes from, out of the wire's words.

use crate::group::{Claim, Generation, InstanceId, MemberId};

/// A member's claim. On the wire an empty text is no member id, and −1 no generation.
pub(crate) fn claim(member: &str, instance: Option<&str>, generation: i32) -> Claim {
    Claim {
        member_id: member_id(member),
        instance_id: instance.map(InstanceId::from),
        generation: Generation(generation),
    }
}

/// A member id; on the wire an empty text is none.
pub(crate) fn member_id(text: &str) -> Option<MemberId> {
    Some(text).filter(|text| !text.is_empty()).map(MemberId::from)
}
