//! The records of the internal topic, in the layout of Kafka's own schemas.
//!
//! All numbers are big-endian. A string is `i16 length, UTF-8`, a blob `i32 length, bytes`, an
//! array `i32 count, elements`; a length of −1 is null where null is allowed. Key and value each
//! begin with an `i16` version; the key's version tells what kind of record it is. A record without
//! a value deletes the value of its key. Decoders are total: damage costs one record and is
//! reported.
//!
//! ```text
//! key 1    group string · topic string · partition i32
//! value 4  offset i64 · leader epoch i32 · metadata compact string · commit time i64
//!          · tagged fields, of which 0 is the topic id                         (read: 0 to 4)
//! value 3  offset i64 · leader epoch i32 · metadata string · commit time i64
//! value 1  offset i64 · metadata string · commit time i64 · expiry time i64
//!
//! key 2    group string
//! value 3  protocol type string · generation i32 · protocol string? · leader string?
//!          · state time i64 · members[]                                        (read: 0 to 3)
//! member   id string · instance id string? · client id string · client host string
//!          · rebalance timeout i32 · session timeout i32 · subscription blob · assignment blob
//! ```

mod fields;
mod group_value;
mod log_record;
mod offset_value;
#[cfg(test)]
mod records_tests;

pub use fields::DamagedRecord;
pub(super) use group_value::{GroupSnapshot, MemberSnapshot};
pub use log_record::GroupRecord;
pub(super) use log_record::LogRecord;
pub use offset_value::CommittedOffset;
