//! Variable-length numbers: zigzag, seven bits per byte, lowest first, as in Kafka's records.
//!
//! An `i32` takes 1 to 5 bytes, an `i64` 1 to 10. [`Cursor`](super::cursor::Cursor) reads them.

/// Appends `value` to `out`.
pub(super) fn put_varint(out: &mut Vec<u8>, value: i32) {
    put_unsigned(out, u64::from(zigzag_32(value)));
}

/// Appends `value` to `out`.
pub(super) fn put_varlong(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, zigzag_64(value));
}

/// The number of bytes that [`put_varint`] appends.
pub(super) fn varint_size(value: i32) -> usize {
    unsigned_size(u64::from(zigzag_32(value)))
}

/// The number of bytes that [`put_varlong`] appends.
pub(super) fn varlong_size(value: i64) -> usize {
    unsigned_size(zigzag_64(value))
}

/// Decodes a zigzag-encoded number.
pub(super) fn unzigzag_32(folded: u32) -> i32 {
    (folded >> 1).cast_signed() ^ (folded & 1).cast_signed().wrapping_neg()
}

/// Decodes a zigzag-encoded number.
pub(super) fn unzigzag_64(folded: u64) -> i64 {
    (folded >> 1).cast_signed() ^ (folded & 1).cast_signed().wrapping_neg()
}

fn zigzag_32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

fn zigzag_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low & 0x7f);
        }
        out.push(low | 0x80);
    }
}

fn unsigned_size(value: u64) -> usize {
    // A number of n bits takes ⌈n / 7⌉ bytes, and zero takes one.
    let bits = u64::BITS.wrapping_sub((value | 1).leading_zeros());
    bits.div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::RecordFault;
    use crate::record::cursor::Cursor;

    proptest! {
        #[test]
        fn a_varint_reads_back_and_its_size_is_known_in_advance(value: i32) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varint_size(value));
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint(), Ok(value));
            prop_assert_eq!(cursor.left(), 0);
        }

        #[test]
        fn a_varlong_reads_back_and_its_size_is_known_in_advance(value: i64, shift in 0..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varlong(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varlong_size(value));
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varlong(), Ok(value));
            prop_assert_eq!(cursor.left(), 0);
        }
    }

    #[test]
    fn the_ends_of_the_range_take_the_most_bytes() {
        for value in [i32::MIN, i32::MAX] {
            assert_eq!(varint_size(value), 5);
        }
        for value in [i64::MIN, i64::MAX] {
            assert_eq!(varlong_size(value), 10);
        }
        for (value, byte) in [(0, 0x00), (-1, 0x01), (1, 0x02), (-64, 0x7f)] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes, [byte]);
        }
    }

    #[test]
    fn a_number_that_is_too_long_is_refused() {
        for (bytes, fault) in [
            (&[0x80; 5][..], RecordFault::Varint),
            (&[0xff, 0xff, 0xff, 0xff, 0x10], RecordFault::Varint),
            (&[0x80; 4], RecordFault::Truncated),
            (&[], RecordFault::Truncated),
        ] {
            assert_eq!(Cursor::new(bytes).varint(), Err(fault), "{bytes:?}");
        }
        for (bytes, fault) in [
            (&[0x80; 10][..], RecordFault::Varint),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], RecordFault::Varint),
            (&[0x80; 9], RecordFault::Truncated),
        ] {
            assert_eq!(Cursor::new(bytes).varlong(), Err(fault), "{bytes:?}");
        }
    }
}
