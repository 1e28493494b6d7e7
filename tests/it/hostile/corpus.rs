//! Every way in which one well-formed request may be broken, enumerated.
//!
//! A length may stand anywhere, so each of the values that lengths lie with is put everywhere, in
//! every form a length has: 16 bits, 32 bits, and as a varint, which moves what follows.

use super::mutations::frame;
use crate::support::GoldenRequest;

/// Bits flipped: those of so many bytes.
const FLIPPED_BYTES: usize = 64;

/// The broken forms of a request, without the length of their frames; all of them, in order.
pub(super) fn broken(golden: &GoldenRequest) -> impl Iterator<Item = Vec<u8>> {
    let body = &golden.body[..];
    let cut = (0..body.len()).map(|length| body[..length].to_vec());
    let lies = (0..body.len()).flat_map(|at| lies(body, at));
    let flips = (0..body.len().min(FLIPPED_BYTES) * 8).map(|bit| {
        let mut changed = body.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    });
    cut.chain(lies).chain(flips)
}

/// The forms that only a connection can tell from the request: their frame's length is a lie.
pub(super) fn lying_frames(golden: &GoldenRequest) -> Vec<Vec<u8>> {
    let length = i32::try_from(golden.body.len()).unwrap();
    let lie = |lie: i32| {
        let mut whole = frame(&golden.body);
        whole[..4].copy_from_slice(&lie.to_be_bytes());
        whole
    };
    [-2, -1, 0, i32::MAX, length - 1, length + 1].map(lie).to_vec()
}

/// The request with each lie about a length at one place.
fn lies(body: &[u8], at: usize) -> Vec<Vec<u8>> {
    let short = |lie: i16| replaced(body, at, 2, &lie.to_be_bytes());
    let long = |lie: i32| replaced(body, at, 4, &lie.to_be_bytes());
    let varint = |lie: u32| replaced(body, at, 1, &uvarint(lie));
    let after = |width: usize| u32::try_from(body.len().saturating_sub(at + width)).unwrap();
    let mut lies = Vec::new();
    let one_too_many = i16::try_from(after(2) + 1).unwrap_or(i16::MAX);
    lies.extend([-2, -1, 0, i16::MAX, one_too_many].map(short));
    let one_too_many = i32::try_from(after(4) + 1).unwrap();
    lies.extend([-2, -1, 0, i32::MAX, one_too_many].map(long));
    // Compact lengths are one more than what they tell, and 0 is null.
    lies.extend([0, 1, after(1) + 2, u32::MAX >> 1, u32::MAX].map(varint));
    lies
}

/// `width` bytes of the body, as far as there are so many, replaced.
fn replaced(body: &[u8], at: usize, width: usize, by: &[u8]) -> Vec<u8> {
    let mut changed = body.to_vec();
    changed.splice(at..body.len().min(at + width), by.iter().copied());
    changed
}

fn uvarint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            bytes.push(low & 0x7f);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
