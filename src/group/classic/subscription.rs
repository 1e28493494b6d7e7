//! The subscriptions of consumers, parsed from their metadata.
//!
//! Only the prefix common to all versions of Kafka's consumer protocol is parsed:
//! `version i16 · count i32 · count × (i16 length, topic)`.

use std::collections::BTreeSet;

use bytes::{Buf, Bytes};

use super::group::Group;

impl Group {
    /// The topics that members consume; `None` if they are not known.
    pub(super) fn subscribed_topics(&self) -> Option<BTreeSet<String>> {
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        if !self.generation.is_of_consumers() {
            return None;
        }
        let protocol = self.generation.protocol()?;
        let mut topics = BTreeSet::new();
        for member in self.members.iter() {
            topics.extend(topics_of(member.metadata(protocol)?.clone())?);
        }
        Some(topics)
    }
}

fn topics_of(mut subscription: Bytes) -> Option<Vec<String>> {
    let _version = subscription.try_get_i16().ok()?;
    let count = usize::try_from(subscription.try_get_i32().ok()?).ok()?;
    (0..count).map(|_| topic_of(&mut subscription)).collect()
}

fn topic_of(subscription: &mut Bytes) -> Option<String> {
    let length = usize::try_from(subscription.try_get_i16().ok()?).ok()?;
    if subscription.len() < length {
        return None;
    }
    String::from_utf8(subscription.split_to(length).into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_whatever_follows_them() {
        let bytes = Bytes::from_static(b"\0\x03\0\0\0\x02\0\x01a\0\x02bb\xff\xff\xff");
        assert_eq!(topics_of(bytes), Some(vec!["a".to_owned(), "bb".to_owned()]));
    }

    #[test]
    fn metadata_of_another_kind_has_no_topics() {
        for bytes in [
            &b""[..],
            b"\0\0",
            b"\0\0\0\0\0\x01\0\x09a",
            b"\0\0\x7f\xff\xff\xff",
            b"\0\0\xff\xff\xff\xff",
        ] {
            assert_eq!(topics_of(Bytes::from_static(bytes)), None, "{bytes:?}");
        }
    }
}
