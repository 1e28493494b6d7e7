//! A sliding window of a file's bytes in memory, for sequential reads.

use std::io;

use crate::io::File;

/// The source of the bytes that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// The page cache, or the disk for bytes that are not cached.
    Cache,
    /// The disk itself: a page of the cache may hold bytes whose write to the disk has failed.
    Disk,
}

/// A file, and where its bytes are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'f> {
    /// The file.
    pub(crate) file: &'f dyn File,
    /// The source of its bytes.
    pub(crate) medium: Medium,
    /// Bytes of the file that are in memory already, from the source.
    pub(crate) loaded: Option<Loaded<'f>>,
}

/// Bytes of a file in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<'f> {
    /// The bytes.
    pub(crate) bytes: &'f [u8],
    /// The position of the first byte.
    pub(crate) start: u64,
}

/// The bytes of a file below some end, read a stretch at a time.
#[derive(Debug)]
pub(super) struct Window<'f> {
    source: Source<'f>,
    end: u64,
    stretch: usize,
    /// The bytes read, which begin at position `start`.
    buffer: Vec<u8>,
    start: u64,
}

impl<'f> Source<'f> {
    /// A source that reads the file through the page cache.
    pub(crate) fn cached(file: &'f dyn File) -> Self {
        Self { file, medium: Medium::Cache, loaded: None }
    }

    /// A source that reads the file from the disk itself.
    pub(crate) fn on_disk(file: &'f dyn File) -> Self {
        Self { file, medium: Medium::Disk, loaded: None }
    }

    /// The loaded bytes from `position` on, if at least `wanted` of them are loaded; none at or
    /// beyond `end`.
    fn loaded_from(&self, position: u64, wanted: usize, end: u64) -> Option<&'f [u8]> {
        let Loaded { bytes, start } = self.loaded?;
        let skip = usize::try_from(position.checked_sub(start)?).ok()?;
        let below = usize::try_from(end.checked_sub(start)?).unwrap_or(usize::MAX);
        let bytes = bytes.get(skip..below.min(bytes.len()))?;
        (bytes.len() >= wanted).then_some(bytes)
    }
}

impl<'f> Window<'f> {
    /// A window on the bytes below `end`, which reads `stretch` of them at a time.
    pub(super) fn new(source: Source<'f>, end: u64, stretch: usize) -> Self {
        Self { source, end, stretch, buffer: Vec::new(), start: 0 }
    }

    /// The end of the bytes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The bytes from `position` on: at least `wanted` of them, except at the end.
    ///
    /// # Errors
    /// Those of the file's reads; a file that ends early only gives fewer bytes.
    pub(super) fn bytes(&mut self, position: u64, wanted: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        if let Some(loaded) = self.source.loaded_from(position, wanted, self.end) {
            return Ok(loaded);
        }
        let available = self.available(position);
        if available < wanted {
            self.fill(position, wanted.max(self.stretch.min(left)))?;
        }
        let skip = usize::try_from(position - self.start).unwrap_or(usize::MAX);
        Ok(self.buffer.get(skip..).unwrap_or_default())
    }

    /// The number of bytes from `position` on that are in memory.
    fn available(&self, position: u64) -> usize {
        let skip = position.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        skip.map_or(0, |skip| self.buffer.len().saturating_sub(skip))
    }

    fn fill(&mut self, position: u64, count: usize) -> io::Result<()> {
        self.start = position;
        self.buffer.resize(count, 0);
        let mut done = 0;
        while done < count {
            let at = position + done as u64;
            let buffer = &mut self.buffer[done..];
            let read = match self.source.medium {
                Medium::Cache => self.source.file.read_at(buffer, at),
                Medium::Disk => self.source.file.read_medium_at(buffer, at),
            };
            match read {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) => {
                    self.buffer.clear();
                    return Err(error);
                }
            }
        }
        self.buffer.truncate(done);
        Ok(())
    }
}
