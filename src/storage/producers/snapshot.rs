//! Snapshots: the producer states of a log up to an offset, in a file beside its segments.
//!
//! `%020d.snapshot`, named by the offset up to which it is valid. Numbers are big-endian.
//!
//! | at | bytes | field |
//! |--:|--:|---|
//! | 0 | 2 | version, 1 |
//! | 2 | 8 | the offset in the file's name |
//! | 10 | 4 | number of producers; then for each, by rising id: |
//! | | 8 | producer id |
//! | | 2 | producer epoch |
//! | | 1 | number of batches, at most 5; then for each, oldest first: |
//! | | 4 | first sequence |
//! | | 4 | last sequence |
//! | | 8 | base offset |
//! | | 8 | last offset |
//! | | 8 | largest timestamp, ms |
//! | end − 4 | 4 | CRC32C of all bytes before it, in every version |
//!
//! A snapshot only saves reading batches: if it is damaged, an older snapshot or the log itself is
//! used instead.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::io::Disk;
use crate::storage::producers::entry::{Entry, Sequenced, WINDOW};
use crate::storage::producers::{AppendedBatch, ProducerLimits, ProducerStates};
use crate::storage::small_file;
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

const VERSION: u16 = 1;
const SUFFIX: &str = ".snapshot";

/// Writes the states of the log in `dir` as they are at `offset`, durably.
pub fn write_snapshot(
    disk: &dyn Disk,
    dir: &Path,
    offset: Offset,
    states: &ProducerStates,
) -> io::Result<()> {
    small_file::replace(disk, &path_of(dir, offset), &encode(offset, states))
}

/// The states of the latest sound snapshot at or below `end`, and its offset, from which batches
/// must be replayed. `None` if there is no such snapshot; all batches must then be replayed. Every
/// producer counts as last seen at `now`.
///
/// # Errors
/// `Unsupported` if a later release has written a snapshot; otherwise the disk's error.
pub fn latest_snapshot(
    disk: &dyn Disk,
    dir: &Path,
    end: Offset,
    limits: ProducerLimits,
    now: Duration,
) -> io::Result<Option<(ProducerStates, Offset)>> {
    for offset in offsets(disk, dir)?.into_iter().rev().filter(|offset| *offset <= end) {
        let path = path_of(dir, offset);
        let Some(bytes) = small_file::read(disk, &path)? else { continue };
        let mut states = ProducerStates::new(limits);
        match decode(&bytes, offset, now, &mut states) {
            Some(VERSION) => return Ok(Some((states, offset))),
            Some(version) => {
                return Err(small_file::too_new(&path, version.into(), VERSION.into()));
            }
            None => tracing::warn!(path = %path.display(), "damaged producer snapshot passed over"),
        }
    }
    Ok(None)
}

/// The largest producer id in all sound snapshots of the log in `dir`.
pub(crate) fn largest_id_in_snapshots(
    disk: &dyn Disk,
    dir: &Path,
) -> io::Result<Option<ProducerId>> {
    let mut largest = None;
    for offset in offsets(disk, dir)? {
        let Some(bytes) = small_file::read(disk, &path_of(dir, offset))? else { continue };
        let mut states = ProducerStates::new(ProducerLimits::default());
        if decode(&bytes, offset, Duration::ZERO, &mut states) == Some(VERSION) {
            largest = largest.max(states.entries().keys().copied().max());
        }
    }
    Ok(largest)
}

/// Describes the damage of the snapshot in `path`, by its name and its checksum.
pub(crate) fn snapshot_flaw(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(offset) = offset_of(&name) else { return Ok(None) };
    let Some(bytes) = small_file::read(disk, path)? else { return Ok(None) };
    let mut states = ProducerStates::new(ProducerLimits::default());
    let decoded = decode(&bytes, offset, Duration::ZERO, &mut states);
    Ok(decoded.is_none().then(|| "it contradicts itself".to_owned()))
}

/// Removes the snapshots for whose offset `keep` is false.
pub fn retain_snapshots(
    disk: &dyn Disk,
    dir: &Path,
    keep: impl Fn(Offset) -> bool,
) -> io::Result<()> {
    for offset in offsets(disk, dir)?.into_iter().filter(|offset| !keep(*offset)) {
        small_file::remove(disk, &path_of(dir, offset))?;
    }
    Ok(())
}

/// The offsets of the snapshots in `dir`, rising.
fn offsets(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Offset>> {
    let names = disk.list(dir)?.into_iter().map(|entry| entry.name);
    let mut offsets: Vec<_> = names.filter_map(|name| offset_of(&name)).collect();
    offsets.sort_unstable();
    Ok(offsets)
}

fn path_of(dir: &Path, offset: Offset) -> PathBuf {
    dir.join(format!("{:020}{SUFFIX}", offset.get()))
}

fn offset_of(name: &str) -> Option<Offset> {
    let digits = name.strip_suffix(SUFFIX)?;
    let all_digits = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten().and_then(Offset::checked)
}

fn encode(offset: Offset, states: &ProducerStates) -> Vec<u8> {
    let mut producers: Vec<_> = states.entries().iter().collect();
    producers.sort_unstable_by_key(|(id, _)| **id);
    let mut bytes = VERSION.to_be_bytes().to_vec();
    bytes.extend(offset.get().to_be_bytes());
    bytes.extend(u32::try_from(producers.len()).unwrap_or(u32::MAX).to_be_bytes());
    for (producer_id, entry) in producers {
        encode_entry(&mut bytes, *producer_id, entry);
    }
    bytes.extend(crc32c::crc32c(&bytes).to_be_bytes());
    bytes
}

fn encode_entry(bytes: &mut Vec<u8>, producer_id: ProducerId, entry: &Entry) {
    assert!(entry.window.len() <= WINDOW, "{} batches in a window", entry.window.len());
    bytes.extend(producer_id.0.to_be_bytes());
    bytes.extend(entry.epoch.0.to_be_bytes());
    bytes.push(u8::try_from(entry.window.len()).unwrap_or(u8::MAX));
    for batch in &entry.window {
        bytes.extend(batch.base_sequence.to_be_bytes());
        bytes.extend(batch.last_sequence.to_be_bytes());
        bytes.extend(batch.appended.base_offset.get().to_be_bytes());
        bytes.extend(batch.appended.last_offset.get().to_be_bytes());
        bytes.extend(batch.appended.max_timestamp.millis().to_be_bytes());
    }
}

/// Fills `states` and returns the version, or `None` if the bytes are damaged.
fn decode(bytes: &[u8], offset: Offset, now: Duration, states: &mut ProducerStates) -> Option<u16> {
    let (content, crc) = bytes.split_last_chunk()?;
    if u32::from_be_bytes(*crc) != crc32c::crc32c(content) {
        return None;
    }
    let mut reader = Reader(content);
    let version = u16::from_be_bytes(reader.take()?);
    if version != VERSION {
        return Some(version);
    }
    if i64::from_be_bytes(reader.take()?) != offset.get() {
        return None;
    }
    for _ in 0..u32::from_be_bytes(reader.take()?) {
        let (producer_id, entry) = decode_entry(&mut reader, now)?;
        states.insert(producer_id, entry);
    }
    reader.0.is_empty().then_some(version)
}

fn decode_entry(reader: &mut Reader<'_>, now: Duration) -> Option<(ProducerId, Entry)> {
    let producer_id = ProducerId(i64::from_be_bytes(reader.take()?));
    let mut entry = Entry::new(ProducerEpoch(i16::from_be_bytes(reader.take()?)));
    entry.last_seen = now;
    let [count] = reader.take()?;
    if usize::from(count) > WINDOW {
        return None;
    }
    for _ in 0..count {
        entry.window.push(Sequenced {
            base_sequence: i32::from_be_bytes(reader.take()?),
            last_sequence: i32::from_be_bytes(reader.take()?),
            appended: AppendedBatch {
                base_offset: Offset::checked(i64::from_be_bytes(reader.take()?))?,
                last_offset: Offset::checked(i64::from_be_bytes(reader.take()?))?,
                max_timestamp: Timestamp::from_millis(i64::from_be_bytes(reader.take()?)),
            },
        });
    }
    Some((producer_id, entry))
}

/// The bytes not read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
}
