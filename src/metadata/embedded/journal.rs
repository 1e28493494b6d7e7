//! The files behind the tree: each transaction is appended to both sides and flushed.
//!
//! The directory holds one journal: `<number>.journal` and its mirror `<number>.mirror`, which have
//! the same bytes. A journal that has grown too long is replaced by the next number, which begins
//! with a snapshot. Both its sides are written as `….tmp`, flushed and renamed, then the directory
//! is flushed. Only then are transactions appended to it and the old journal removed. So a name
//! without `.tmp` always has a complete header and snapshot, the highest number is in force, and a
//! crash leaves at most files to remove. The directory itself is created under a temporary name, so
//! it never exists without a journal.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{
    Disk, File, OpenMode, is_failed_sync, is_out_of_space, require_in_place, write_all_at,
};
use crate::metadata::embedded::codec::{FORMAT, Header, encode_record};
use crate::metadata::embedded::files::{Listing, Side, cannot, write_new};
use crate::metadata::embedded::reading::{JournalRead, read_newest};
use crate::metadata::embedded::recovery::Replay;
use crate::metadata::store::StoreError;
use crate::metadata::tree::{Change, Entry, Tree};

/// Bytes of transactions that justify a replacement when disk space is short.
const GROWTH_ON_FULL_DISK: u64 = 64 * 1024;

/// The free space below which the file system counts as full.
const FREE_SPACE_MIN: u64 = 1024 * 1024;

/// The number of nodes per record of a snapshot.
const SNAPSHOT_RECORD_NODES: usize = 256;

/// The open journal, to which transactions are appended in turn.
#[derive(Debug)]
pub(super) struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    number: u64,
    /// Both sides, or only one while there is no space for the other.
    files: Vec<OpenSide>,
    /// The position of the next record; everything before it is durable.
    end: u64,
    /// The end of the snapshot at the start of the journal.
    snapshot_end: u64,
    /// The number of bytes appended before the journal is replaced.
    growth: u64,
    replace_at: u64,
    /// Like `replace_at`, for a full disk.
    replace_on_full_disk_at: u64,
    /// The file that failed and its error; no more transactions are accepted.
    failed: Option<(PathBuf, Arc<io::Error>)>,
}

#[derive(Debug)]
struct OpenSide {
    path: PathBuf,
    file: Arc<dyn File>,
}

/// The sides of a journal that are open and durable up to `end`.
struct OpenJournal {
    number: u64,
    files: Vec<OpenSide>,
    end: u64,
    snapshot_end: u64,
}

impl Journal {
    /// Opens the journal in `dir`, or creates the directory with a first journal. If one side has
    /// lost bytes, they are restored from the other.
    ///
    /// # Errors
    /// `JournalMissing` if the directory exists without a journal, `Damaged` if both sides have
    /// lost the same record. Nothing is changed in either case.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        growth: u64,
    ) -> Result<(Self, Tree), StoreError> {
        if !disk.exists(dir).map_err(cannot("look for", dir))? {
            let tree = Tree::new();
            let created = create(&*disk, dir, &tree)?;
            return Ok((Self::new(disk, dir, growth, created), tree));
        }
        // The name of the new journal may not be durable yet: flush it before the old journal is
        // removed.
        disk.sync_dir(dir).map_err(cannot("flush", dir))?;
        let listing = Listing::of(&*disk, dir)?;
        let read = read_newest(&*disk, dir, &listing)?;
        let files = restore(&*disk, dir, &read)?;
        remove_others(&*disk, dir, &listing, read.number)?;
        let end = read.replay.bytes.len() as u64;
        let snapshot_end = read.replay.snapshot_end as u64;
        let found = OpenJournal { number: read.number, files, end, snapshot_end };
        let mut journal = Self::new(disk, dir, growth, found);
        if !read.header.has_mirror {
            // An earlier release wrote it without a mirror.
            journal.replace_at = 0;
            journal.replace_or_go_on(&read.replay.tree)?;
        }
        Ok((journal, read.replay.tree))
    }

    fn new(disk: Arc<dyn Disk>, dir: &Path, growth: u64, opened: OpenJournal) -> Self {
        let OpenJournal { number, files, end, snapshot_end } = opened;
        Self {
            disk,
            dir: dir.to_owned(),
            number,
            files,
            end,
            snapshot_end,
            growth,
            replace_at: snapshot_end + growth,
            replace_on_full_disk_at: 0,
            failed: None,
        }
    }

    /// Returns an error if the journal has failed and takes no more transactions.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some((file, source)) => {
                Err(StoreError::Failed { file: file.clone(), source: Arc::clone(source) })
            }
            None => Ok(()),
        }
    }

    /// Appends a transaction to both sides, flushes them, and makes sure that the next start will
    /// find them.
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
        // Look after the flush: a file that was removed before it still accepts all writes.
        for index in 0..self.files.len() {
            let OpenSide { path, file } = &self.files[index];
            if let Err(error) = require_in_place(&*self.disk, path, &**file) {
                return Err(self.fail(index, error));
            }
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Removes a refused transaction from the sides up to `last`. Each may hold it completely, and
    /// it must not reappear after a crash.
    fn cut_back(&mut self, last: usize) -> Result<(), StoreError> {
        for index in 0..=last {
            let file = &self.files[index].file;
            if let Err(error) = file.set_len(self.end).and_then(|()| file.sync_data()) {
                return Err(self.fail(index, error));
            }
        }
        Ok(())
    }

    /// Replaces the journal by a snapshot of `tree` if it has grown too long.
    ///
    /// # Errors
    /// `Io`, for example without space: the old journal stays in use and the next attempt comes
    /// later.
    pub(super) fn replace_if_long(&mut self, tree: &Tree) -> Result<(), StoreError> {
        let is_due = self.end >= self.replace_at || self.is_due_on_full_disk();
        if is_due { self.replace(tree) } else { Ok(()) }
    }

    /// True if a snapshot would free space on a full disk. The snapshot may use the reserve; the
    /// limits keep a journal that only grows from using it up.
    fn is_due_on_full_disk(&self) -> bool {
        let has_grown = self.end >= self.snapshot_end + GROWTH_ON_FULL_DISK;
        has_grown
            && self.frees_space()
            && self.end >= self.replace_on_full_disk_at
            && self.disk.free_bytes(&self.dir).is_ok_and(|free| free < FREE_SPACE_MIN)
    }

    /// True if most of the journal is transactions, which a snapshot may leave out.
    fn frees_space(&self) -> bool {
        self.end >= 2 * self.snapshot_end
    }

    /// Appends a transaction that found no space, after replacing the journal by a snapshot, which
    /// may free some.
    ///
    /// # Errors
    /// The errors of [`Journal::append`].
    pub(super) fn append_replaced(
        &mut self,
        tree: &Tree,
        txn: i64,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        if self.frees_space()
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
            // After a crash either journal may be in force, so no transaction may be appended to
            // either.
            return Err(self.fail_by(self.dir.clone(), error));
        }
        let opened =
            |(side, file): (Side, _)| OpenSide { path: side.path(&self.dir, number), file };
        let files = Side::ALL.into_iter().zip(written).map(opened).collect();
        let old = std::mem::replace(&mut self.files, files);
        (self.number, self.end) = (number, bytes.len() as u64);
        self.snapshot_end = self.end;
        self.replace_at = self.end + self.growth;
        // A file that stays is removed when the store is next opened.
        for OpenSide { path, .. } in old {
            if let Err(error) = self.disk.remove_file(&path) {
                tracing::warn!(%error, file = %path.display(), "a replaced journal stays");
            }
        }
        Ok(())
    }

    /// Replaces a journal that has no mirror; without space for that, keeps using it.
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

    /// Accepts no more transactions, because one has panicked.
    pub(super) fn fail_by_panic(&mut self) -> StoreError {
        let error = io::Error::other("a transaction has panicked; please report this");
        self.fail_by(self.dir.clone(), error)
    }

    fn fail_by(&mut self, file: PathBuf, error: io::Error) -> StoreError {
        let source = Arc::new(error);
        self.failed = Some((file.clone(), Arc::clone(&source)));
        StoreError::Failed { file, source }
    }
}

/// Creates the directory with a first journal; both are durable on return.
fn create(disk: &dyn Disk, dir: &Path, tree: &Tree) -> Result<OpenJournal, StoreError> {
    let unfinished = dir.with_extension("tmp");
    disk.create_dir(&unfinished).map_err(cannot("create", &unfinished))?;
    let (number, bytes) = (1, snapshot(tree));
    for side in Side::ALL {
        write_new(disk, &side.path(&unfinished, number), &bytes)?;
    }
    disk.sync_dir(&unfinished)
        .and_then(|()| disk.rename(&unfinished, dir))
        .and_then(|()| disk.sync_dir(dir.parent().unwrap_or(Path::new(""))))
        .map_err(cannot("create", dir))?;
    let end = bytes.len() as u64;
    // Open the files again under their final names, so that errors name them.
    let open = |side: Side| {
        let path = side.path(dir, number);
        let file = disk.open(&path, OpenMode::Write).map_err(cannot("open", &path))?;
        Ok(OpenSide { path, file })
    };
    let files = Side::ALL.into_iter().map(open).collect::<Result<_, StoreError>>()?;
    Ok(OpenJournal { number, files, end, snapshot_end: end })
}

/// Puts a journal of `tree` in force, ahead of those in `dir`; durable on return.
pub(super) fn supersede(disk: &dyn Disk, dir: &Path, tree: &Tree) -> Result<u64, StoreError> {
    if !disk.exists(dir).map_err(cannot("look for", dir))? {
        return create(disk, dir, tree).map(|created| created.number);
    }
    let newest = Listing::of(disk, dir)?.journals.last_key_value().map_or(0, |(number, _)| *number);
    let (number, bytes) = (newest + 1, snapshot(tree));
    for side in Side::ALL {
        write_new(disk, &side.unfinished_path(dir, number), &bytes)?;
    }
    publish(disk, dir, number).map_err(cannot("create a journal in", dir))?;
    Ok(number)
}

/// Restores damaged sides, and opens both.
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
        // The bytes read may only be in the page cache.
        file.sync_data().map_err(cannot("flush", &path))?;
        files.push(OpenSide { path, file });
    }
    Ok(files)
}

/// True if one side is intact by itself.
fn has_sound_side(read: &JournalRead) -> bool {
    let Replay { bytes, last_record, .. } = &read.replay;
    read.contents.iter().any(|content| content.flaw(bytes, *last_record).is_none())
}

/// Removes unfinished journals and journals that are no longer in force.
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
            // `restore` has renamed this unfinished file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(cannot("remove", &path))?,
        }
    }
    Ok(())
}

/// Puts the unfinished journal in force, durably.
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
        // Encode in chunks: all nodes at once would double the memory.
        let record: Vec<Change> = nodes.by_ref().take(SNAPSHOT_RECORD_NODES).collect();
        bytes.extend(encode_record(tree.last_txn, &record));
    }
    bytes
}
