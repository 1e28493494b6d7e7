//! The files behind the tree: transactions are appended and flushed one by one, each to both sides.
//!
//! The directory holds one journal, `<number>.journal` and its mirror `<number>.mirror`, which are
//! the same bytes. Grown too long, it is replaced by one with the next number that begins with a
//! snapshot: both sides written as `….tmp`, flushed, renamed, the directory flushed, and only then
//! is anything appended to it and the old one removed. So a name without `.tmp` always has a whole
//! header and snapshot, the highest number is the one that counts, and a crash leaves at most files
//! to remove. The directory itself is made under another name, so it never is without a journal.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, File, OpenMode, is_failed_sync, is_out_of_space, write_all_at};
use crate::metadata::embedded::codec::{FORMAT, Header, encode_record};
use crate::metadata::embedded::files::{Listing, Side, cannot, write_new};
use crate::metadata::embedded::reading::{JournalRead, read_newest};
use crate::metadata::embedded::recovery::Replay;
use crate::metadata::embedded::tree::{Change, Entry, Tree};
use crate::metadata::store::StoreError;

/// Bytes of transactions that are worth a replacement when room is short.
const GROWTH_ON_FULL_DISK: u64 = 64 * 1024;

/// A file system with less free room counts as full here.
const ROOM_MIN: u64 = 1024 * 1024;

/// Nodes in one record of a snapshot.
const SNAPSHOT_RECORD_NODES: usize = 256;

/// The open journal; its owner appends one transaction after another.
#[derive(Debug)]
pub(super) struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    number: u64,
    /// Both sides, or one alone as long as there is no room for the other.
    files: Vec<OpenSide>,
    /// Where the next record goes; all before is durable.
    end: u64,
    /// Where the snapshot at its beginning ends.
    snapshot_end: u64,
    /// How much is appended before the journal is replaced.
    growth: u64,
    replace_at: u64,
    /// The same for a full disk.
    replace_on_full_disk_at: u64,
    /// The file that failed and its error; nothing is appended any more.
    failed: Option<(PathBuf, Arc<io::Error>)>,
}

#[derive(Debug)]
struct OpenSide {
    path: PathBuf,
    file: Arc<dyn File>,
}

impl Journal {
    /// Opens the journal in `dir`, or makes the first one together with the directory. What one
    /// side has lost is restored from the other.
    ///
    /// # Errors
    /// `JournalMissing` when the directory is there and holds none, `Damaged` when both sides have
    /// lost the same record; nothing is changed then.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        growth: u64,
    ) -> Result<(Self, Tree), StoreError> {
        if !disk.exists(dir).map_err(cannot("look for", dir))? {
            create(&*disk, dir, &Tree::new())?;
        }
        // A new journal's name may not be durable yet; before that the old one must not go.
        disk.sync_dir(dir).map_err(cannot("flush", dir))?;
        let listing = Listing::of(&*disk, dir)?;
        let read = read_newest(&*disk, dir, &listing)?;
        let files = restore(&*disk, dir, &read)?;
        remove_others(&*disk, dir, &listing, read.number)?;
        let mut journal = Self {
            disk,
            dir: dir.to_owned(),
            number: read.number,
            files,
            end: read.replay.bytes.len() as u64,
            snapshot_end: read.replay.snapshot_end as u64,
            growth,
            replace_at: read.replay.snapshot_end as u64 + growth,
            replace_on_full_disk_at: 0,
            failed: None,
        };
        if !read.header.has_mirror {
            // An earlier release's.
            journal.replace_at = 0;
            journal.replace_or_go_on(&read.replay.tree)?;
        }
        Ok((journal, read.replay.tree))
    }

    /// Whether it still takes transactions.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some((file, source)) => {
                Err(StoreError::Failed { file: file.clone(), source: Arc::clone(source) })
            }
            None => Ok(()),
        }
    }

    /// Makes a transaction durable, on both sides.
    pub(super) fn append(&mut self, txn: i64, changes: &[Change]) -> Result<(), StoreError> {
        self.check()?;
        let bytes = encode_record(txn, changes);
        for index in 0..self.files.len() {
            let file = &self.files[index].file;
            let Err(error) = write_all_at(&**file, &mut [IoSlice::new(&bytes)], self.end) else {
                continue;
            };
            self.cut_back(index)?;
            return Err(cannot("append to", &self.files[index].path)(error));
        }
        for index in 0..self.files.len() {
            if let Err(error) = self.files[index].file.sync_data() {
                return Err(self.fail(index, error));
            }
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Takes a refused transaction back from the sides up to `last`. Any of them may have it whole,
    /// and must not have it after a crash.
    fn cut_back(&mut self, last: usize) -> Result<(), StoreError> {
        for index in 0..=last {
            let file = &self.files[index].file;
            if let Err(error) = file.set_len(self.end).and_then(|()| file.sync_data()) {
                return Err(self.fail(index, error));
            }
        }
        Ok(())
    }

    /// Puts a snapshot of `tree` in place of the journal if that has grown long.
    ///
    /// # Errors
    /// `Io` when space is short, say: the old journal serves on and the next attempt comes later.
    pub(super) fn replace_if_long(&mut self, tree: &Tree) -> Result<(), StoreError> {
        let is_due = self.end >= self.replace_at || self.is_due_on_full_disk();
        if is_due { self.replace(tree) } else { Ok(()) }
    }

    /// Whether a snapshot in its place would give room on a disk that has none. The reserve bears
    /// the snapshot, as long as it is not spent on a journal that only grows.
    fn is_due_on_full_disk(&self) -> bool {
        let has_grown = self.end >= self.snapshot_end + GROWTH_ON_FULL_DISK;
        has_grown
            && self.gives_room()
            && self.end >= self.replace_on_full_disk_at
            && self.disk.free_bytes(&self.dir).is_ok_and(|free| free < ROOM_MIN)
    }

    /// Whether most of it is transactions, which a snapshot may leave out.
    fn gives_room(&self) -> bool {
        self.end >= 2 * self.snapshot_end
    }

    /// Makes a transaction durable that has found no room: a snapshot may give it some.
    ///
    /// # Errors
    /// Those of [`Journal::append`].
    pub(super) fn append_replaced(
        &mut self,
        tree: &Tree,
        txn: i64,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        if self.gives_room()
            && let Err(error) = self.replace(tree)
        {
            tracing::debug!(%error, "no room for a shorter metadata journal either");
        }
        self.append(txn, changes)
    }

    fn replace(&mut self, tree: &Tree) -> Result<(), StoreError> {
        let number = self.number + 1;
        let bytes = snapshot(tree);
        let unfinished = |side: Side| side.unfinished_path(&self.dir, number);
        let written: Result<Vec<_>, _> = Side::ALL
            .into_iter()
            .map(|side| write_new(&*self.disk, &unfinished(side), &bytes))
            .collect();
        let written = match written {
            Ok(written) => written,
            Err(StoreError::Io { file, source, .. }) if is_failed_sync(&source) => {
                return Err(self.fail_by(file, source));
            }
            Err(error) => {
                self.replace_at = self.end + self.growth;
                self.replace_on_full_disk_at = self.end + GROWTH_ON_FULL_DISK;
                return Err(error);
            }
        };
        if let Err(error) = publish(&*self.disk, &self.dir, number) {
            // Which of the two counts after a crash is not known, so none can be appended to.
            return Err(self.fail_by(self.dir.clone(), error));
        }
        let opened =
            |(side, file): (Side, _)| OpenSide { path: side.path(&self.dir, number), file };
        let files = Side::ALL.into_iter().zip(written).map(opened).collect();
        let old = std::mem::replace(&mut self.files, files);
        (self.number, self.end) = (number, bytes.len() as u64);
        self.snapshot_end = self.end;
        self.replace_at = self.end + self.growth;
        // Left behind, it is removed when the store is opened.
        for OpenSide { path, .. } in old {
            if let Err(error) = self.disk.remove_file(&path) {
                tracing::warn!(%error, file = %path.display(), "a replaced journal stays");
            }
        }
        Ok(())
    }

    /// Replaces a journal without a mirror; without room for that it goes on as it is.
    fn replace_or_go_on(&mut self, tree: &Tree) -> Result<(), StoreError> {
        match self.replace(tree) {
            Err(StoreError::Io { file, source, .. }) if is_out_of_space(&source) => {
                tracing::warn!(
                    file = %file.display(),
                    "no room for the mirror of the metadata journal: until there is, one damaged \
                     byte of it keeps the broker from starting"
                );
                Ok(())
            }
            replaced => replaced,
        }
    }

    fn fail(&mut self, index: usize, error: io::Error) -> StoreError {
        self.fail_by(self.files[index].path.clone(), error)
    }

    fn fail_by(&mut self, file: PathBuf, error: io::Error) -> StoreError {
        let source = Arc::new(error);
        self.failed = Some((file.clone(), Arc::clone(&source)));
        StoreError::Failed { file, source }
    }
}

/// Makes the directory with a first journal in it; both are durable on return.
fn create(disk: &dyn Disk, dir: &Path, tree: &Tree) -> Result<(), StoreError> {
    let unfinished = dir.with_extension("tmp");
    disk.create_dir(&unfinished).map_err(cannot("create", &unfinished))?;
    let bytes = snapshot(tree);
    for side in Side::ALL {
        write_new(disk, &side.path(&unfinished, 1), &bytes)?;
    }
    disk.sync_dir(&unfinished)
        .and_then(|()| disk.rename(&unfinished, dir))
        .and_then(|()| disk.sync_dir(dir.parent().unwrap_or(Path::new(""))))
        .map_err(cannot("create", dir))
}

/// Makes a journal of `tree` the one that counts, beside those in `dir`; durable on return.
pub(super) fn supersede(disk: &dyn Disk, dir: &Path, tree: &Tree) -> Result<u64, StoreError> {
    if !disk.exists(dir).map_err(cannot("look for", dir))? {
        return create(disk, dir, tree).map(|()| 1);
    }
    let newest = Listing::of(disk, dir)?.journals.last_key_value().map_or(0, |(number, _)| *number);
    let (number, bytes) = (newest + 1, snapshot(tree));
    for side in Side::ALL {
        write_new(disk, &side.unfinished_path(dir, number), &bytes)?;
    }
    publish(disk, dir, number).map_err(cannot("create a journal in", dir))?;
    Ok(number)
}

/// Makes both sides what they should be, and opens them.
fn restore(disk: &dyn Disk, dir: &Path, read: &JournalRead) -> Result<Vec<OpenSide>, StoreError> {
    let bytes = &read.replay.bytes;
    let mut files = Vec::new();
    for (side, content) in Side::ALL.into_iter().zip(&read.contents) {
        let path = side.path(dir, read.number);
        if side == Side::Mirror && !read.header.has_mirror {
            continue;
        }
        if let Some(flaw) = content.flaw(bytes, read.replay.last_record) {
            let (position, file) = (flaw.position(), path.display());
            if flaw.is_damage() {
                tracing::error!(%file, position, "{flaw}: restored from the other side");
            } else {
                tracing::warn!(%file, position, "{flaw}: completed from the other side");
            }
            let unfinished = side.unfinished_path(dir, read.number);
            match write_new(disk, &unfinished, bytes) {
                Err(StoreError::Io { source, .. })
                    if is_out_of_space(&source) && has_sound_side(read) =>
                {
                    tracing::error!(%file, "no room to restore it: the other side serves alone");
                    continue;
                }
                written => drop(written?),
            }
            disk.rename(&unfinished, &path)
                .and_then(|()| disk.sync_dir(dir))
                .map_err(cannot("restore", &path))?;
        }
        let file = disk.open(&path, OpenMode::Write).map_err(cannot("open", &path))?;
        let length = file.len().map_err(cannot("measure", &path))?;
        if let Some(extra) = length.checked_sub(bytes.len() as u64).filter(|extra| *extra > 0) {
            tracing::warn!(
                file = %path.display(), position = bytes.len(), bytes = extra,
                "cut a transaction that was not acknowledged"
            );
            file.set_len(bytes.len() as u64).map_err(cannot("cut", &path))?;
        }
        // What was read may be in the page cache only.
        file.sync_data().map_err(cannot("flush", &path))?;
        files.push(OpenSide { path, file });
    }
    Ok(files)
}

/// Whether one side is whole without the other.
fn has_sound_side(read: &JournalRead) -> bool {
    let Replay { bytes, last_record, .. } = &read.replay;
    read.contents.iter().any(|content| content.flaw(bytes, *last_record).is_none())
}

/// Removes unfinished journals and those that do not count.
fn remove_others(
    disk: &dyn Disk,
    dir: &Path,
    listing: &Listing,
    number: u64,
) -> Result<(), StoreError> {
    let others = listing.journals.iter().filter(|(other, _)| **other != number);
    let paths = |(other, sides): (&u64, &BTreeSet<Side>)| {
        sides.iter().map(|side| side.path(dir, *other)).collect::<Vec<_>>()
    };
    for path in others.flat_map(paths).chain(listing.unfinished.iter().cloned()) {
        match disk.remove_file(&path) {
            // The side it was written for has been restored under the same name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(cannot("remove", &path))?,
        }
    }
    Ok(())
}

/// Makes the unfinished journal the one that counts, durably.
fn publish(disk: &dyn Disk, dir: &Path, number: u64) -> io::Result<()> {
    for side in Side::ALL {
        disk.rename(&side.unfinished_path(dir, number), &side.path(dir, number))?;
    }
    disk.sync_dir(dir)
}

fn snapshot(tree: &Tree) -> Vec<u8> {
    let put = |(path, entry): (&str, &Entry)| Change::Put(path.to_owned(), entry.clone());
    let mut nodes = tree.entries().map(put);
    let records = tree.entries().count().div_ceil(SNAPSHOT_RECORD_NODES);
    let snapshot_records = u32::try_from(records).unwrap_or(u32::MAX);
    let header =
        Header { format: FORMAT, snapshot_records, snapshot_txn: tree.last_txn, has_mirror: true };
    let mut bytes = header.encode();
    for _ in 0..records {
        // Piece by piece: all nodes at once would be in memory twice.
        let record: Vec<Change> = nodes.by_ref().take(SNAPSHOT_RECORD_NODES).collect();
        bytes.extend(encode_record(tree.last_txn, &record));
    }
    bytes
}
