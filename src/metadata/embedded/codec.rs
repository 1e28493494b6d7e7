//! The encoding of the journal. All numbers are big-endian.
//!
//! A file is a header and records. The first records are a snapshot, each further record is one
//! transaction. Transaction ids rise by one from record to record; the records of the snapshot all
//! carry the snapshot's id.
//!
//! | header | bytes | |
//! |---|--:|---|
//! | magic | 8 | `SLOGMETA` |
//! | format | 4 | 1 |
//! | snapshot records | 4 | number of records of the snapshot |
//! | snapshot transaction | 8 | the last transaction that the snapshot includes |
//! | copies | 4 | 1 when the journal has a mirror, 0 when an earlier release wrote it without |
//! | crc | 4 | CRC-32C of the 28 bytes before |
//!
//! | record | bytes | |
//! |---|--:|---|
//! | length | 4 | bytes of the body |
//! | crc | 4 | CRC-32C of the length's bytes and the body |
//! | body: transaction id | 8 | |
//! | body: changes | | one after another, to the end |
//!
//! | change | bytes | |
//! |---|--:|---|
//! | kind | 1 | 1 put, 2 remove; a remove ends after the path |
//! | path | 2 + n | length, UTF-8 |
//! | flags | 1 | bit 0: ephemeral |
//! | version | 4 | |
//! | created | 8 | the transaction that created the node |
//! | next sequence | 4 | |
//! | value | 4 + n | length, bytes |

use bytes::{Buf, BufMut, TryGetError};

use crate::metadata::store::SessionId;
use crate::metadata::tree::{Change, Entry, SharedValues};

pub(super) const HEADER_SIZE: usize = 32;
pub(super) const FORMAT: u32 = 1;
/// The size of a record's frame, which precedes the body.
pub(super) const FRAME_SIZE: usize = 8;
/// The minimum size of a body: the transaction id.
pub(super) const BODY_MIN: usize = 8;

const MAGIC: &[u8; 8] = b"SLOGMETA";
const PUT: u8 = 1;
const REMOVE: u8 = 2;
const EPHEMERAL: u8 = 1;
/// The owner of each ephemeral node in a journal. Ephemeral nodes end with the process, so their
/// sessions are not recorded.
const OWNER: SessionId = SessionId::PAST;

/// The header of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) snapshot_records: u32,
    pub(super) snapshot_txn: i64,
    /// True if the journal has a mirror.
    pub(super) has_mirror: bool,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_SIZE);
        bytes.put_slice(MAGIC);
        bytes.put_u32(self.format);
        bytes.put_u32(self.snapshot_records);
        bytes.put_i64(self.snapshot_txn);
        bytes.put_u32(u32::from(self.has_mirror));
        bytes.put_u32(crc32c::crc32c(&bytes));
        assert!(bytes.len() == HEADER_SIZE, "a header has {HEADER_SIZE} bytes: {}", bytes.len());
        bytes
    }

    /// Decodes a header; `None` if the bytes are not a valid one.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, mut crc) = bytes.get(..HEADER_SIZE)?.split_at_checked(HEADER_SIZE - 4)?;
        let mut fields = covered.strip_prefix(MAGIC)?;
        if crc.try_get_u32().ok()? != crc32c::crc32c(covered) {
            return None;
        }
        Some(Self {
            format: fields.try_get_u32().ok()?,
            snapshot_records: fields.try_get_u32().ok()?,
            snapshot_txn: fields.try_get_i64().ok()?,
            has_mirror: fields.try_get_u32().ok()? != 0,
        })
    }
}

/// Encodes a record with these changes.
pub(super) fn encode_record<'a>(
    txn: i64,
    changes: impl IntoIterator<Item = &'a Change>,
) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_SIZE];
    bytes.put_i64(txn);
    for change in changes {
        encode_change(&mut bytes, change);
    }
    let length = size::<u32>(bytes.len() - FRAME_SIZE).to_be_bytes();
    bytes[..4].copy_from_slice(&length);
    let crc = checksum(length, &bytes[FRAME_SIZE..]);
    bytes[4..FRAME_SIZE].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// The body of the record at the beginning of `bytes`, if it is complete and intact.
pub(super) fn record_body(bytes: &[u8]) -> Option<&[u8]> {
    let length = *bytes.first_chunk::<4>()?;
    let crc = u32::from_be_bytes(*bytes.get(4..)?.first_chunk::<4>()?);
    let end = FRAME_SIZE.checked_add(u32::from_be_bytes(length) as usize)?;
    let body = bytes.get(FRAME_SIZE..end)?;
    (body.len() >= BODY_MIN && checksum(length, body) == crc).then_some(body)
}

/// The transaction id at the beginning of a body.
pub(super) fn body_txn(mut body: &[u8]) -> Option<i64> {
    body.try_get_i64().ok()
}

/// Decodes the changes of a body; `None` if it contains anything else.
pub(super) fn decode_changes(body: &[u8]) -> Option<Vec<Change>> {
    let mut rest = body.get(BODY_MIN..)?;
    let mut changes = Vec::new();
    let mut values = SharedValues::default();
    while !rest.is_empty() {
        changes.push(decode_change(&mut rest, &mut values).ok()??);
    }
    Some(changes)
}

fn encode_change(bytes: &mut Vec<u8>, change: &Change) {
    let path = change.path();
    bytes.put_u8(if matches!(change, Change::Put(..)) { PUT } else { REMOVE });
    bytes.put_u16(size::<u16>(path.len()));
    bytes.put_slice(path.as_bytes());
    if let Change::Put(_, entry) = change {
        bytes.put_u8(if entry.owner.is_some() { EPHEMERAL } else { 0 });
        bytes.put_i32(entry.version);
        bytes.put_i64(entry.created);
        bytes.put_u32(entry.next_sequence);
        bytes.put_u32(size::<u32>(entry.value.len()));
        bytes.put_slice(&entry.value);
    }
}

fn decode_change(
    rest: &mut &[u8],
    values: &mut SharedValues,
) -> Result<Option<Change>, TryGetError> {
    let kind = rest.try_get_u8()?;
    let path_length = usize::from(rest.try_get_u16()?);
    let Some(path) = rest.split_off(..path_length).and_then(|path| str::from_utf8(path).ok())
    else {
        return Ok(None);
    };
    match kind {
        PUT => {
            let flags = rest.try_get_u8()?;
            let version = rest.try_get_i32()?;
            let created = rest.try_get_i64()?;
            let next_sequence = rest.try_get_u32()?;
            let length = rest.try_get_u32()? as usize;
            let Some(value) = rest.split_off(..length) else { return Ok(None) };
            let value = values.share(value);
            let owner = (flags & EPHEMERAL != 0).then_some(OWNER);
            let entry = Entry { value, version, created, owner, next_sequence };
            Ok(Some(Change::Put(path.to_owned(), entry)))
        }
        REMOVE => Ok(Some(Change::Remove(path.to_owned()))),
        _ => Ok(None),
    }
}

fn checksum(length: [u8; 4], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&length), body)
}

/// Converts a length to the type of its field.
fn size<N: TryFrom<usize>>(length: usize) -> N {
    let Ok(field) = N::try_from(length) else {
        panic!("{length} bytes are beyond what a transaction may have");
    };
    field
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = Change> {
        let value = prop::collection::vec(any::<u8>(), 0..50);
        let stat = (any::<i32>(), any::<i64>(), any::<bool>(), any::<u32>());
        ("(/[a-zé]{1,9}){1,3}", prop::option::of((value, stat))).prop_map(|(path, put)| match put {
            None => Change::Remove(path),
            Some((value, (version, created, is_ephemeral, next_sequence))) => {
                let (value, owner) = (value.into(), is_ephemeral.then_some(OWNER));
                Change::Put(path, Entry { value, version, created, owner, next_sequence })
            }
        })
    }

    proptest! {
        #[test]
        fn a_record_decodes_to_what_was_encoded(
            txn in any::<i64>(),
            changes in prop::collection::vec(change(), 0..6),
        ) {
            let bytes = encode_record(txn, &changes);
            let body = record_body(&bytes).unwrap();
            prop_assert_eq!(body.len() + FRAME_SIZE, bytes.len());
            prop_assert_eq!(body_txn(body), Some(txn));
            prop_assert_eq!(decode_changes(body), Some(changes));
        }

        #[test]
        fn no_bytes_panic_a_decoder(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Header::decode(&bytes);
            let _ = record_body(&bytes);
            let _ = decode_changes(&bytes);
        }

        #[test]
        fn a_flipped_bit_shows(at in 0_usize..30, bit in 0_u32..8) {
            let change = Change::Remove("/brokers/ids".to_owned());
            let mut bytes = encode_record(7, [&change]);
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(record_body(&bytes), None);
            let header =
                Header { format: FORMAT, snapshot_records: 1, snapshot_txn: 2, has_mirror: true };
            let mut bytes = header.encode();
            prop_assert_eq!(Header::decode(&bytes), Some(header));
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(Header::decode(&bytes), None);
        }
    }
}
