//! The two requests of the baseline, as real clients encode them: Produce 9 and Fetch 11, each with
//! one topic, one partition and, for Produce, one record batch.

use std::ops::Range;

/// A request within a buffer, without copies.
pub enum Request {
    /// The range of the batch in the buffer; without acknowledgement for `acks=0`.
    Produce { correlation: i32, batch: Range<usize>, is_acknowledged: bool },
    /// The fetch offset, and the maximal number of bytes.
    Fetch { correlation: i32, offset: i64, max_bytes: u64 },
}

const PRODUCE_9: [u8; 4] = [0, 0, 0, 9];
const FETCH_11: [u8; 4] = [0, 1, 0, 11];

/// Finds the first complete frame at `from`: the request, and the start of the next frame.
/// `None` if more bytes are needed.
pub fn parse(buffer: &[u8], from: usize) -> Option<(Request, usize)> {
    let size = i32::from_be_bytes(buffer.get(from..from + 4)?.try_into().ok()?);
    let end = from + 4 + usize::try_from(size).expect("a frame has a positive size");
    let mut cursor = Cursor { bytes: buffer.get(..end)?, at: from + 4 };
    let api = cursor.take::<4>();
    let correlation = i32::from_be_bytes(cursor.take());
    cursor.skip_string();
    match api {
        PRODUCE_9 => Some((produce(&mut cursor, correlation), end)),
        FETCH_11 => Some((fetch(&mut cursor, correlation), end)),
        other => panic!("the ruler knows Produce 9 and Fetch 11, not {other:?}"),
    }
}

fn produce(cursor: &mut Cursor<'_>, correlation: i32) -> Request {
    cursor.skip_tags();
    let transactional_id = cursor.varint();
    cursor.at += transactional_id.saturating_sub(1);
    let is_acknowledged = cursor.take() != [0, 0];
    cursor.at += 4; // timeout
    assert_eq!(cursor.varint(), 2, "one topic");
    let name = cursor.varint();
    cursor.at += name - 1;
    assert_eq!(cursor.varint(), 2, "one partition");
    cursor.at += 4; // its index
    let length = cursor.varint() - 1;
    let batch = cursor.at..cursor.at + length;
    Request::Produce { correlation, batch, is_acknowledged }
}

fn fetch(cursor: &mut Cursor<'_>, correlation: i32) -> Request {
    cursor.at += 4 + 4 + 4 + 4 + 1 + 4 + 4; // replica, wait, min, max, isolation, session
    cursor.at += 4; // one topic
    cursor.skip_string();
    cursor.at += 4 + 4 + 4; // one partition, its index, leader epoch
    let offset = i64::from_be_bytes(cursor.take());
    cursor.at += 8; // log start offset
    let max_bytes = i32::from_be_bytes(cursor.take());
    Request::Fetch { correlation, offset, max_bytes: max_bytes.unsigned_abs().into() }
}

/// Returns the response to a produce whose batch got `base_offset`.
pub fn produce_answer(out: &mut Vec<u8>, topic: &str, correlation: i32, base_offset: i64) {
    let start = out.len();
    out.extend([0; 4]);
    out.extend(correlation.to_be_bytes());
    out.extend([0, 2, topic.len() as u8 + 1]);
    out.extend(topic.as_bytes());
    out.push(2);
    out.extend([0; 4 + 2]); // partition 0, no error
    out.extend(base_offset.to_be_bytes());
    out.extend((-1i64).to_be_bytes()); // no append time
    out.extend(0i64.to_be_bytes()); // log start
    out.extend([1, 0, 0, 0]); // no record errors, no message, tags
    out.extend([0; 4 + 1]); // no throttling, tags
    let size = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&size.to_be_bytes());
}

/// Returns a fetch response except its records, of which `length` bytes follow.
pub fn fetch_answer_head(topic: &str, correlation: i32, watermark: i64, length: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    out.extend([0; 4]);
    out.extend(correlation.to_be_bytes());
    out.extend([0; 4 + 2 + 4]); // no throttling, no error, no session
    out.extend(1i32.to_be_bytes());
    out.extend((topic.len() as i16).to_be_bytes());
    out.extend(topic.as_bytes());
    out.extend(1i32.to_be_bytes());
    out.extend([0; 4 + 2]); // partition 0, no error
    out.extend(watermark.to_be_bytes());
    out.extend(watermark.to_be_bytes()); // last stable offset
    out.extend(0i64.to_be_bytes()); // log start
    out.extend((-1i32).to_be_bytes()); // no aborted transactions
    out.extend((-1i32).to_be_bytes()); // no preferred replica
    out.extend((length as i32).to_be_bytes());
    let size = (out.len() - 4) as u32 + length as u32;
    out[..4].copy_from_slice(&size.to_be_bytes());
    out
}

/// Decodes a whole frame; panics if it is malformed.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.bytes[self.at..self.at + N].try_into().expect("N bytes");
        self.at += N;
        taken
    }

    fn varint(&mut self) -> usize {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.take();
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn skip_string(&mut self) {
        let length = i16::from_be_bytes(self.take());
        self.at += usize::try_from(length).unwrap_or(0);
    }

    fn skip_tags(&mut self) {
        assert_eq!(self.varint(), 0, "no tagged fields");
    }
}
