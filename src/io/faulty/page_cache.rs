//! A file as the kernel sees it: the medium's bytes, and the pages that differ from them.
//!
//! A page is *dirty* from a write until it is written back. It is *lost* if the write-back fails:
//! readers still see it although the medium holds something else, and it is never written again.
//! The length and a truncation are as volatile as bytes. Where `pages` has no page, the first
//! `shown` bytes of the file are those of the medium, and the bytes from there to the length are
//! zeros.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::sync::Arc;

use crate::io::{File, SeededRandom, read_exact_at, write_all_at};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;

/// A power failure may leave any of a page's sectors written.
const SECTOR: u64 = 512;
const SECTORS: u64 = PAGE / SECTOR;
const ALL_SECTORS: u64 = u64::MAX;

#[derive(Debug)]
struct Page {
    bytes: Box<[u8]>,
    dirty: bool,
}

/// A file's live state over its medium.
#[derive(Debug)]
pub(super) struct CachedFile {
    medium: Arc<dyn File>,
    pages: BTreeMap<u64, Page>,
    length: u64,
    shown: u64,
    /// Pages that are no longer cached: their bytes must be read from the medium.
    evicted: BTreeSet<u64>,
}

impl CachedFile {
    /// A file over `medium`, with nothing cached yet.
    pub(super) fn over(medium: Arc<dyn File>) -> io::Result<Self> {
        let length = medium.len()?;
        let (pages, evicted) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { medium, pages, length, shown: length, evicted })
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// Returns true if dropping the cache changes nothing that a reader can see.
    pub(super) fn is_clean(&self) -> io::Result<bool> {
        let medium = self.medium.len()?;
        Ok(self.pages.is_empty() && self.length == medium && self.shown >= medium)
    }

    pub(super) fn has_dirty_pages(&self) -> bool {
        self.pages.values().any(|page| page.dirty)
    }

    /// Returns true if a read of the range needs no byte of the medium.
    pub(super) fn is_cached(&self, position: u64, length: u64) -> bool {
        let end = position.saturating_add(length);
        self.evicted.range(position / PAGE..end.div_ceil(PAGE)).next().is_none()
    }

    /// Marks the pages of a range as cached, as a read does.
    pub(super) fn bring_in(&mut self, position: u64, length: u64) {
        let end = position.saturating_add(length);
        self.evicted.retain(|page| !(position / PAGE..end.div_ceil(PAGE)).contains(page));
    }

    pub(super) fn read(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let count = self.read_uncached(buffer, position)?;
        let end = position + count as u64;
        for (index, page) in self.pages.range(position / PAGE..end.div_ceil(PAGE)) {
            let start = index * PAGE;
            let (from, to) = (position.max(start), end.min(start + PAGE));
            if from < to {
                buffer[size(from - position)..size(to - position)]
                    .copy_from_slice(&page.bytes[size(from - start)..size(to - start)]);
            }
        }
        Ok(count)
    }

    /// Reads the medium instead of the cached pages, after writing back the dirty pages of the
    /// range, as the kernel does before a direct read. For a lost page it returns the medium's
    /// bytes.
    pub(super) fn read_medium(&mut self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let end = position.saturating_add(buffer.len() as u64);
        for index in self.dirty_pages() {
            if index < end.div_ceil(PAGE) && index >= position / PAGE {
                self.write_down(index)?;
            }
        }
        self.read_uncached(buffer, position)
    }

    fn read_uncached(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let count = buffer.len().min(size(self.length.saturating_sub(position)));
        let on_medium = self.shown.min(self.medium.len()?).saturating_sub(position);
        let (old, zeros) = buffer[..count].split_at_mut(count.min(size(on_medium)));
        read_exact_at(&*self.medium, old, position)?;
        zeros.fill(0);
        Ok(count)
    }

    pub(super) fn write(&mut self, bytes: &[u8], position: u64) -> io::Result<()> {
        let mut rest = bytes;
        let mut position = position;
        while !rest.is_empty() {
            let start = position % PAGE;
            let (now, later) = rest.split_at(rest.len().min(size(PAGE - start)));
            let page = self.load(position / PAGE)?;
            page.bytes[size(start)..size(start) + now.len()].copy_from_slice(now);
            page.dirty = true;
            position += now.len() as u64;
            self.length = self.length.max(position);
            rest = later;
        }
        Ok(())
    }

    fn load(&mut self, index: u64) -> io::Result<&mut Page> {
        let page = if let Some(page) = self.pages.remove(&index) {
            page
        } else {
            let mut bytes = vec![0; PAGE_BYTES].into_boxed_slice();
            self.read(&mut bytes, index * PAGE)?;
            Page { bytes, dirty: false }
        };
        Ok(self.pages.entry(index).or_insert(page))
    }

    pub(super) fn set_len(&mut self, length: u64) {
        self.pages.retain(|index, _| index * PAGE < length);
        if let Some(page) = self.pages.get_mut(&(length / PAGE)) {
            page.bytes[size(length % PAGE)..].fill(0);
        }
        self.shown = self.shown.min(length);
        self.length = length;
    }

    /// Writes everything back, in random order, and syncs the medium.
    pub(super) fn sync(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let mut dirty = self.dirty_pages();
        while !dirty.is_empty() {
            let index = dirty.swap_remove(random.index(dirty.len()));
            self.write_down(index)?;
        }
        self.cut_medium()?;
        if self.medium.len()? != self.length {
            self.medium.set_len(self.length)?;
        }
        self.shown = self.length;
        self.medium.sync_data()
    }

    /// Simulates a failed sync: no dirty page was written, and none is dirty any more.
    pub(super) fn lose_dirty_pages(&mut self) {
        for page in self.pages.values_mut() {
            page.dirty = false;
        }
    }

    /// Writes back a dirty page, or some of its sectors, as the kernel may at any time.
    pub(super) fn write_back(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let dirty = self.dirty_pages();
        if dirty.is_empty() {
            return Ok(());
        }
        let index = dirty[random.index(dirty.len())];
        if random.chance(4) {
            self.cut_medium()?;
            self.write_sectors(index, random.number())
        } else {
            self.write_down(index)
        }
    }

    /// Simulates a power failure: nothing, everything, or any dirty sectors and any intermediate
    /// length reach the medium.
    pub(super) fn lose_power(mut self, random: &mut SeededRandom) -> io::Result<()> {
        match random.below(8) {
            0 => Ok(()),
            1 => self.sync(random),
            _ => self.lose_some(random),
        }
    }

    fn lose_some(&mut self, random: &mut SeededRandom) -> io::Result<()> {
        let is_cut = self.shown >= self.medium.len()? || random.chance(2);
        if is_cut {
            self.cut_medium()?;
        }
        let durable = self.medium.len()?;
        for index in self.dirty_pages() {
            // Bytes written after a truncation are in new blocks, which exist only once the
            // truncation is on the medium.
            if is_cut || (index + 1) * PAGE <= self.shown {
                let sectors = match random.below(4) {
                    0 | 1 => 0,
                    2 => ALL_SECTORS,
                    _ => random.number(),
                };
                self.write_sectors(index, sectors)?;
            }
        }
        let live = if is_cut { self.length } else { self.length.min(durable) };
        let length = match random.below(3) {
            0 => durable,
            1 => live,
            _ => random.between(durable, live),
        };
        self.medium.set_len(length)?;
        self.medium.sync_data()
    }

    /// Copies the bytes to another medium, syncs it, and uses it from now on.
    pub(super) fn move_to(&mut self, medium: Arc<dyn File>) -> io::Result<()> {
        let mut bytes = vec![0; size(self.medium.len()?)];
        read_exact_at(&*self.medium, &mut bytes, 0)?;
        medium.set_len(bytes.len() as u64)?;
        write_all_at(&*medium, &mut [IoSlice::new(&bytes)], 0)?;
        medium.sync_data()?;
        self.medium = medium;
        Ok(())
    }

    /// Flips a bit on the medium and evicts its page from the cache.
    pub(super) fn flip_bit(&mut self, position: u64, bit: u8) -> io::Result<()> {
        let mut byte = [0];
        read_exact_at(&*self.medium, &mut byte, position)?;
        byte[0] ^= 1 << (bit % 8);
        self.evicted.insert(position / PAGE);
        write_all_at(&*self.medium, &mut [IoSlice::new(&byte)], position)?;
        self.medium.sync_data()
    }

    /// Evicts all clean pages from the cache.
    pub(super) fn evict(&mut self) {
        let pages = 0..self.length.div_ceil(PAGE);
        self.evicted.extend(pages.filter(|index| !self.pages.contains_key(index)));
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.pages.iter().filter(|(_, page)| page.dirty).map(|(index, _)| *index).collect()
    }

    fn write_down(&mut self, index: u64) -> io::Result<()> {
        self.cut_medium()?;
        self.write_sectors(index, ALL_SECTORS)?;
        self.pages.remove(&index);
        Ok(())
    }

    /// Applies a truncation to the medium; without it old bytes would reappear below a new length.
    fn cut_medium(&mut self) -> io::Result<()> {
        if self.shown < self.medium.len()? {
            self.medium.set_len(self.shown)?;
        }
        Ok(())
    }

    /// Writes the sectors of a page whose bits are set, up to the file's length.
    fn write_sectors(&mut self, index: u64, sectors: u64) -> io::Result<()> {
        if sectors == ALL_SECTORS {
            return self.write_range(index, 0, PAGE);
        }
        for sector in (0..SECTORS).filter(|sector| sectors & (1 << sector) != 0) {
            self.write_range(index, sector * SECTOR, (sector + 1) * SECTOR)?;
        }
        Ok(())
    }

    /// Writes a range of a page's bytes, up to the file's length.
    fn write_range(&mut self, index: u64, from: u64, to: u64) -> io::Result<()> {
        let start = index * PAGE;
        let to = to.min(self.length.saturating_sub(start));
        if let Some(page) = self.pages.get(&index)
            && from < to
        {
            let bytes = &page.bytes[size(from)..size(to)];
            write_all_at(&*self.medium, &mut [IoSlice::new(bytes)], start + from)?;
            self.shown = self.shown.max(start + to);
        }
        Ok(())
    }
}

/// Converts a length or position; files in this cache fit into memory.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
