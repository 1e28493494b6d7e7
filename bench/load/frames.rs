//! The load's requests, and the parts of the responses that it reads.
//!
//! Produce 9 and Fetch 11 for one partition of one topic, and Metadata 4, which creates the topic
//! on a broker. Responses are decoded only as far as needed, but every error code is checked.

use std::io::{self, Read};
use std::net::TcpStream;

const CLIENT: &str = "load";

/// The error code of an offset that is not in the log.
const OFFSET_OUT_OF_RANGE: i16 = 1;

/// Offsets in a v2 batch header.
const BATCH_HEADER: usize = 61;
const CRC_AT: usize = 17;
const CRC_FROM: usize = 21;

/// Returns a record batch of `count` records, each with `value.len()` bytes of value and no key.
pub fn batch(count: usize, value: &[u8], timestamp: i64) -> Vec<u8> {
    let mut records = Vec::new();
    for delta in 0..count {
        let mut record = vec![0, 0]; // attributes, timestamp delta
        varint(&mut record, delta as i64);
        varint(&mut record, -1); // no key
        varint(&mut record, value.len() as i64);
        record.extend(value);
        record.push(0); // no headers
        varint(&mut records, record.len() as i64);
        records.extend(record);
    }
    let mut batch = Vec::with_capacity(BATCH_HEADER + records.len());
    batch.extend([0; 8]); // base offset
    batch.extend(((BATCH_HEADER - 12 + records.len()) as i32).to_be_bytes());
    batch.extend((-1i32).to_be_bytes()); // leader epoch
    batch.push(2);
    batch.extend([0; 4 + 2]); // checksum, attributes
    batch.extend((count as i32 - 1).to_be_bytes());
    batch.extend(timestamp.to_be_bytes());
    batch.extend(timestamp.to_be_bytes());
    batch.extend([0xff; 8 + 2 + 4]); // no producer
    batch.extend((count as i32).to_be_bytes());
    batch.extend(records);
    let crc = crc32c::crc32c(&batch[CRC_FROM..]);
    batch[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    batch
}

/// Returns a Produce 9 of one batch for partition 0.
pub fn produce(topic: &str, acks: i16, correlation: i32, batch: &[u8]) -> Vec<u8> {
    produce_to((topic, 0), acks, correlation, batch)
}

/// Returns a Produce 9 of one batch for any partition.
pub fn produce_to(
    (topic, partition): (&str, u32),
    acks: i16,
    correlation: i32,
    batch: &[u8],
) -> Vec<u8> {
    let mut out = header(0, 9, correlation);
    out.extend([0, 0]); // tags of the header, no transaction
    out.extend(acks.to_be_bytes());
    out.extend(30_000i32.to_be_bytes());
    out.extend([2, topic.len() as u8 + 1]);
    out.extend(topic.as_bytes());
    out.push(2); // one partition
    out.extend(partition.to_be_bytes());
    let mut length = batch.len() + 1;
    while length > 0x7f {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(batch);
    out.extend([0; 3]); // tags of partition, topic and request
    framed(out)
}

/// Returns a Fetch 11 of partition 0 from `offset`, with a minimum of one byte.
pub fn fetch(topic: &str, correlation: i32, offset: i64, max_bytes: i32) -> Vec<u8> {
    fetch_from((topic, 0), correlation, offset, max_bytes)
}

/// Returns a Fetch 11 of any partition from `offset`, with a minimum of one byte.
pub fn fetch_from(
    (topic, partition): (&str, u32),
    correlation: i32,
    offset: i64,
    max_bytes: i32,
) -> Vec<u8> {
    let mut out = header(1, 11, correlation);
    out.extend((-1i32).to_be_bytes()); // no replica
    out.extend(10_000i32.to_be_bytes()); // wait
    out.extend(1i32.to_be_bytes());
    out.extend(max_bytes.to_be_bytes());
    out.push(0); // isolation
    out.extend(0i32.to_be_bytes()); // no session
    out.extend((-1i32).to_be_bytes());
    out.extend(1i32.to_be_bytes());
    string(&mut out, topic);
    out.extend(1i32.to_be_bytes());
    out.extend(partition.to_be_bytes());
    out.extend((-1i32).to_be_bytes()); // leader epoch
    out.extend(offset.to_be_bytes());
    out.extend((-1i64).to_be_bytes()); // log start
    out.extend(max_bytes.to_be_bytes());
    out.extend(0i32.to_be_bytes()); // forgets nothing
    string(&mut out, ""); // rack
    framed(out)
}

/// Returns a Metadata 4 for `topic` that lets the broker create it.
pub fn metadata(topic: &str) -> Vec<u8> {
    let mut out = header(3, 4, 0);
    out.extend(1i32.to_be_bytes());
    string(&mut out, topic);
    out.push(1);
    framed(out)
}

fn header(api: i16, version: i16, correlation: i32) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(api.to_be_bytes());
    out.extend(version.to_be_bytes());
    out.extend(correlation.to_be_bytes());
    string(&mut out, CLIENT);
    out
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as i16).to_be_bytes());
    out.extend(text.as_bytes());
}

fn varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = (value << 1) ^ (value >> 63);
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn framed(mut out: Vec<u8>) -> Vec<u8> {
    let size = out.len() as u32 - 4;
    out[..4].copy_from_slice(&size.to_be_bytes());
    out
}

/// Reads the next response, without its size, into `buffer`.
pub fn read_answer<'a>(mut from: &TcpStream, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let mut size = [0; 4];
    from.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size) as usize;
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
    from.read_exact(&mut buffer[..size])?;
    Ok(&buffer[..size])
}

/// Returns true if a response to [`metadata`] says that the topic's partition 0 has a leader.
pub fn has_leader(topic: &str, answer: &[u8]) -> bool {
    // The topic follows the list of brokers: its error, name, internal flag, partitions.
    let name = [&(topic.len() as i16).to_be_bytes(), topic.as_bytes()].concat();
    let Some(at) = answer.windows(name.len()).position(|window| window == name) else {
        return false;
    };
    let partitions = at + name.len() + 1;
    let no_error = |at: usize| answer.get(at..at + 2) == Some(&[0, 0]);
    no_error(at - 2) && no_error(partitions + 4)
}

/// Returns the base offset in a produce response; panics if it has an error.
pub fn produced(topic: &str, answer: &[u8]) -> i64 {
    let error = 4 + 1 + 1 + 1 + topic.len() + 1 + 4;
    let code = i16::from_be_bytes([answer[error], answer[error + 1]]);
    assert_eq!(code, 0, "error of the produce");
    i64::from_be_bytes(answer[error + 2..error + 10].try_into().expect("8 bytes"))
}

/// Returns the records of a fetch response; panics if it has an error.
pub fn fetched<'a>(topic: &str, answer: &'a [u8]) -> &'a [u8] {
    let number = |at: usize| i16::from_be_bytes([answer[at], answer[at + 1]]);
    let partition = 4 + 4 + 2 + 4 + 4 + 2 + topic.len() + 4;
    assert_eq!(number(8), 0, "error of the fetch");
    assert_eq!(number(partition + 4), 0, "error of the fetched partition");
    let aborted = partition + 4 + 2 + 8 + 8 + 8;
    // Without transactions the list of aborted ones is null or empty.
    let records = aborted + 4 + 4;
    &answer[records + 4..]
}

/// Returns true if a fetch response has records; false if its offset is not there yet.
pub fn has_records(topic: &str, answer: &[u8]) -> bool {
    fetch_error(topic, answer) != OFFSET_OUT_OF_RANGE
        && batches(fetched(topic, answer)).next().is_some()
}

/// Returns true if the broker that sent a fetch response leads the partition. Metadata may name it
/// as the leader before it knows that itself.
pub fn is_led(topic: &str, answer: &[u8]) -> bool {
    matches!(fetch_error(topic, answer), 0 | OFFSET_OUT_OF_RANGE)
}

fn fetch_error(topic: &str, answer: &[u8]) -> i16 {
    let error = 4 + 4 + 2 + 4 + 4 + 2 + topic.len() + 4 + 4;
    i16::from_be_bytes([answer[error], answer[error + 1]])
}

/// A whole batch within the records of a fetch response.
pub struct Batch<'a> {
    pub bytes: &'a [u8],
    pub records: u64,
    pub next_offset: i64,
}

/// Returns the whole batches at the start of `records`, without a truncated one at the end.
pub fn batches(mut records: &[u8]) -> impl Iterator<Item = Batch<'_>> {
    std::iter::from_fn(move || {
        let header = records.get(..BATCH_HEADER)?;
        let field = |at: usize| i32::from_be_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let (bytes, rest) = records.split_at_checked(12 + field(8) as usize)?;
        records = rest;
        let base = i64::from_be_bytes(header[..8].try_into().expect("8 bytes"));
        let next_offset = base + i64::from(field(23)) + 1;
        Some(Batch { bytes, records: u64::from(field(57).unsigned_abs()), next_offset })
    })
}
