//! CRC-32C of a batch: over everything after the checksum itself.

use super::header::{HEADER_SIZE, checked_part};

/// The checksum of a batch with this header and these records.
pub(super) fn of_batch(header: &[u8; HEADER_SIZE], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(checked_part(header)), payload)
}

/// The checksum of a batch whose header changed from `before` to `after`, its `payload_size` bytes
/// of records staying as they are.
///
/// The records are not read: a CRC is linear, so the checksum changes by the difference of the two
/// headers' own, carried over as many bytes as follow. Damage is not hidden by it: what was wrong
/// by some bits before is wrong by the same bits after.
pub(super) fn after_header_change(
    checksum: u32,
    before: &[u8; HEADER_SIZE],
    after: &[u8; HEADER_SIZE],
    payload_size: usize,
) -> u32 {
    let change = crc32c::crc32c(checked_part(before)) ^ crc32c::crc32c(checked_part(after));
    crc32c::crc32c_combine(change, checksum, payload_size)
}
