//! The embedded consumer protocol: subscriptions and assignments within classic groups.
//!
//! To the broker these are opaque bytes within `JoinGroup` and `SyncGroup`: an `i16` version
//! followed by a structure of that version, which is never flexible. A blob of a newer version is
//! read as the newest one known here and the remaining bytes are ignored, since members of a group
//! may run different releases.

use bytes::Bytes;

use super::structure::structure;
use super::{Layout, Reader, Wire, WireError, Writer};

structure! {
    /// The subscription of a consumer, and the partitions that it owns.
    Subscription {
        topics: Vec<String>,
        /// Opaque data for the member's assignor.
        user_data: Option<Bytes>,
        /// The partitions that the member owns.
        owned_partitions: Vec<TopicPartitions> [1..],
        /// The generation in which `owned_partitions` were assigned, or −1.
        generation_id: i32 [2..] = -1,
        /// The rack of the member.
        rack_id: Option<String> [3..],
    }
}

structure! {
    /// The partitions assigned to a consumer.
    Assignment {
        assigned_partitions: Vec<TopicPartitions>,
        /// Opaque data from the assignor.
        user_data: Option<Bytes>,
    }
}

structure! {
    /// Partitions of one topic.
    TopicPartitions {
        topic: String,
        partitions: Vec<i32>,
    }
}

/// The newest version of both structures.
const NEWEST: i16 = 3;

macro_rules! blob {
    ($name:ident) => {
        impl $name {
            /// Decodes a version and the structure that follows.
            pub fn from_blob(blob: &[u8]) -> Result<Self, WireError> {
                read_blob(blob, stringify!($name))
            }

            /// Encodes the version and the structure. Versions above 3 are an error: they do not
            /// exist.
            pub fn to_blob(&self, version: i16) -> Result<Bytes, WireError> {
                write_blob(self, version, stringify!($name))
            }
        }
    };
}

blob!(Subscription);
blob!(Assignment);

fn read_blob<T: Wire>(blob: &[u8], message: &'static str) -> Result<T, WireError> {
    let mut reader = Reader::new(blob, Layout::classic(0));
    let version = i16::decode(&mut reader)?;
    if version < 0 {
        return Err(WireError::UnsupportedVersion { message, version });
    }
    reader.set_layout(Layout::classic(version.min(NEWEST)));
    T::decode(&mut reader)
}

fn write_blob(value: &impl Wire, version: i16, message: &'static str) -> Result<Bytes, WireError> {
    if !(0..=NEWEST).contains(&version) {
        return Err(WireError::UnsupportedVersion { message, version });
    }
    let mut writer = Writer::new(Layout::classic(version));
    version.encode(&mut writer);
    value.encode(&mut writer);
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription() -> Subscription {
        let owned = TopicPartitions { topic: "clicks".to_owned(), partitions: vec![0, 2] };
        Subscription {
            topics: vec!["clicks".to_owned(), "views".to_owned()],
            owned_partitions: vec![owned],
            generation_id: 5,
            rack_id: Some("r1".to_owned()),
            ..Subscription::default()
        }
    }

    #[test]
    fn a_newer_version_is_read_as_the_newest_known_version() {
        let mut blob = subscription().to_blob(3).unwrap().to_vec();
        blob.splice(..2, 9_i16.to_be_bytes());
        blob.extend(b"something new");
        assert_eq!(Subscription::from_blob(&blob), Ok(subscription()));
    }

    #[test]
    fn an_older_version_drops_what_it_does_not_have() {
        let read = Subscription::from_blob(&subscription().to_blob(1).unwrap()).unwrap();
        assert_eq!(read, Subscription { generation_id: -1, rack_id: None, ..subscription() });
    }

    #[test]
    fn versions_that_do_not_exist_are_refused() {
        assert!(subscription().to_blob(4).is_err());
        assert!(Assignment::from_blob(&[0xff, 0xff, 0, 0, 0, 0]).is_err());
        assert!(Assignment::from_blob(&[0]).is_err());
    }
}
