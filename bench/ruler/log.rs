//! One append-only file of record batches with dense offsets and a sparse index in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes between two entries of the index.
const INDEX_INTERVAL: u64 = 4096;

/// The file and its in-memory index.
pub struct Log {
    pub file: File,
    /// The offset of the next record; records below it are in the file.
    pub end_offset: i64,
    end: u64,
    /// (base offset, position) of some batches.
    index: Vec<(i64, u64)>,
    /// Batches accepted but not yet written, and the offset after them.
    staged: Vec<u8>,
    next_offset: i64,
    flush: bool,
}

impl Log {
    /// An empty log; with `flush`, an append returns when its bytes are on the medium.
    pub fn create(path: &str, flush: bool) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let (index, staged) = (Vec::new(), Vec::with_capacity(2 << 20));
        Ok(Self { file, end_offset: 0, end: 0, index, staged, next_offset: 0, flush })
    }

    /// Checks a batch's CRC, assigns its base offset and stages it.
    pub fn stage(&mut self, batch: &[u8]) -> i64 {
        let number = |at: usize| u32::from_be_bytes(batch[at..at + 4].try_into().expect("4 bytes"));
        assert_eq!(batch[16], 2, "magic");
        assert_eq!(number(8) as usize + 12, batch.len(), "length of the batch");
        assert_eq!(crc32c::crc32c(&batch[21..]), number(17), "checksum of the batch");
        let (base, position) = (self.next_offset, self.end + self.staged.len() as u64);
        if self.index.last().is_none_or(|(_, last)| position - last >= INDEX_INTERVAL) {
            self.index.push((base, position));
        }
        self.staged.extend(base.to_be_bytes());
        self.staged.extend(&batch[8..12]);
        self.staged.extend([0; 4]); // leader epoch
        self.staged.extend(&batch[16..]);
        self.next_offset += i64::from(number(23)) + 1;
        base
    }

    /// Writes all staged batches, and flushes if the log does.
    pub fn append(&mut self) -> io::Result<()> {
        if !self.staged.is_empty() {
            self.file.write_all_at(&self.staged, self.end)?;
            if self.flush {
                self.file.sync_data()?;
            }
            self.end += self.staged.len() as u64;
            self.end_offset = self.next_offset;
            self.staged.clear();
        }
        Ok(())
    }

    /// The bytes from the batch that contains `offset`, `max_bytes` at most.
    pub fn range(&self, offset: i64, max_bytes: u64) -> io::Result<Range<u64>> {
        let position = if offset >= self.end_offset { self.end } else { self.position(offset)? };
        Ok(position..self.end.min(position + max_bytes))
    }

    fn position(&self, offset: i64) -> io::Result<u64> {
        let after = self.index.partition_point(|(base, _)| *base <= offset);
        let (_, entry) = self.index[after - 1];
        // All batches before the next entry begin within one interval.
        let mut window = [0; INDEX_INTERVAL as usize + 27];
        let filled = self.file.read_at(&mut window, entry)?;
        let mut at = 0;
        while at + 27 <= filled {
            let batch = &window[at..];
            let base = i64::from_be_bytes(batch[..8].try_into().expect("8 bytes"));
            let length = u32::from_be_bytes(batch[8..12].try_into().expect("4 bytes"));
            let last = i32::from_be_bytes(batch[23..27].try_into().expect("4 bytes"));
            if offset <= base + i64::from(last) {
                return Ok(entry + at as u64);
            }
            at += 12 + length as usize;
        }
        panic!("offset {offset} is not within {INDEX_INTERVAL} bytes of its index entry");
    }
}
