//! The CRC-32C of a batch, computed over all bytes after the checksum field.

use super::header::{HEADER_SIZE, UNCHECKED_SIZE, checked_part};

/// Computes the checksum of the batch in `bytes`, regardless of the checksum stored in it.
pub(super) fn of_batch(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes.get(UNCHECKED_SIZE..).unwrap_or_default())
}

/// Computes the checksum of a batch whose header changed from `before` to `after`, while its
/// `payload_size` bytes of records stay the same.
///
/// The records are not read: a CRC is linear, so the checksum changes by the difference of the two
/// headers' checksums, shifted by the bytes that follow. Damage stays detectable: if the old
/// checksum does not match the bytes, the new one does not either.
pub(super) fn after_header_change(
    checksum: u32,
    before: &[u8; HEADER_SIZE],
    after: &[u8; HEADER_SIZE],
    payload_size: usize,
) -> u32 {
    let change = crc32c::crc32c(checked_part(before)) ^ crc32c::crc32c(checked_part(after));
    checksum ^ carried_over(change, payload_size)
}

/// Returns the effect of `change` on the checksum after `size` equal bytes: its product with the
/// polynomial x^(8 × size). Equivalent to `crc32c::crc32c_combine`, but forty times faster.
fn carried_over(change: u32, size: usize) -> u32 {
    let powers = POWERS.iter().enumerate().filter(|(bit, _)| (size >> bit) & 1 == 1);
    powers.fold(change, |product, (_, power)| multiply(product, *power))
}

/// The generator of CRC-32C without its highest term. The highest bit holds the lowest term of a
/// polynomial.
const GENERATOR: u32 = 0x82f6_3b78;

/// x^(8 × 2^n) for every bit n of a batch's size.
const POWERS: [u32; 32] = {
    let mut powers = [0; 32];
    let mut rest = powers.as_mut_slice();
    let mut power = 1 << (31 - 8);
    while let Some((next, after)) = rest.split_first_mut() {
        *next = power;
        power = multiply(power, power);
        rest = after;
    }
    powers
};

/// The product of two polynomials over GF(2), modulo the generator.
const fn multiply(left: u32, right: u32) -> u32 {
    let (mut left, mut multiple, mut product) = (left, right, 0);
    while left != 0 {
        // All ones if the highest bit is set, so that the loop does not branch on data.
        product ^= multiple & (left >> 31).wrapping_neg();
        multiple = (multiple >> 1) ^ (GENERATOR & (multiple & 1).wrapping_neg());
        left <<= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_change_is_carried_over_as_by_combination(change: u32, size in 0..usize::MAX >> 32) {
            prop_assert_eq!(carried_over(change, size), crc32c::crc32c_combine(change, 0, size));
        }
    }
}
