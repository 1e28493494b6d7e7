//! The file behind the tree: transactions are appended and flushed one by one.
//!
//! The directory holds one journal, `<number>.journal`. Grown too long, it is replaced by one with
//! the next number that begins with a snapshot: written as `<number>.journal.tmp`, flushed,
//! renamed, the directory flushed, and only then is anything appended to it and the old one
//! removed. So a name without `.tmp` always has a whole header and snapshot, the highest number is
//! the one that counts, and a crash leaves at most files to remove.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{Disk, File, OpenMode, create_dir_durably, is_out_of_space, write_all_at};
use crate::metadata::embedded::codec::{FORMAT, HEADER_SIZE, Header, encode_record};
use crate::metadata::embedded::recovery::{Damage, replay};
use crate::metadata::embedded::tree::{Change, Tree};
use crate::metadata::store::StoreError;

/// Nodes in one record of a snapshot.
const SNAPSHOT_RECORD_NODES: usize = 256;
const SUFFIX: &str = ".journal";

/// The open journal; its owner appends one transaction after another.
#[derive(Debug)]
pub(super) struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    number: u64,
    file: Arc<dyn File>,
    /// Where the next record goes; all before is durable.
    end: u64,
    /// How much is appended before the journal is replaced.
    growth: u64,
    replace_at: u64,
    failed: Option<Arc<io::Error>>,
}

impl Journal {
    /// Opens the journal in `dir`, or makes the first one.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        growth: u64,
    ) -> Result<(Self, Tree), StoreError> {
        create_dir_durably(&*disk, dir).map_err(cannot("create", dir))?;
        if let Some(number) = remove_leftovers(&*disk, dir)? {
            return Self::open_number(disk, dir, number, growth);
        }
        let (number, tree) = (1, Tree::new());
        let (file, end) = write_unfinished(&*disk, dir, number, &tree)?;
        publish(&*disk, dir, number).map_err(cannot("create a journal in", dir))?;
        let (dir, replace_at) = (dir.to_owned(), end + growth);
        let journal = Self { disk, dir, number, file, end, growth, replace_at, failed: None };
        Ok((journal, tree))
    }

    fn open_number(
        disk: Arc<dyn Disk>,
        dir: &Path,
        number: u64,
        growth: u64,
    ) -> Result<(Self, Tree), StoreError> {
        let path = dir.join(name(number));
        let file = disk.open(&path, OpenMode::Write).map_err(cannot("open", &path))?;
        let bytes = read_all(&*file).map_err(cannot("read", &path))?;
        let damaged = |Damage { position, reason }| StoreError::Damaged {
            file: path.clone(),
            position: position as u64,
            reason,
        };
        let Some(header) = Header::decode(&bytes) else {
            return Err(damaged(Damage { position: 0, reason: "this is no journal's header" }));
        };
        if header.format > FORMAT {
            let (found, newest) = (header.format, FORMAT);
            return Err(StoreError::NewerFormat { file: path, found, newest });
        }
        let replay = replay(&header, &bytes).map_err(damaged)?;
        if replay.end < bytes.len() {
            tracing::warn!(
                file = %path.display(), position = replay.end, bytes = bytes.len() - replay.end,
                "cut a transaction that was not acknowledged"
            );
            file.set_len(replay.end as u64).map_err(cannot("cut", &path))?;
        }
        // What was read may be in the page cache only.
        file.sync_data().map_err(cannot("flush", &path))?;
        let end = replay.end as u64;
        let replace_at = replay.snapshot_end as u64 + growth;
        let dir = dir.to_owned();
        let journal = Self { disk, dir, number, file, end, growth, replace_at, failed: None };
        Ok((journal, replay.tree))
    }

    /// Whether it still takes transactions.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(cause) => Err(StoreError::Failed(Arc::clone(cause))),
            None => Ok(()),
        }
    }

    /// Makes a transaction durable.
    pub(super) fn append(&mut self, txn: i64, changes: &[Change]) -> Result<(), StoreError> {
        self.check()?;
        let bytes = encode_record(txn, changes);
        if let Err(error) = write_all_at(&*self.file, &mut [IoSlice::new(&bytes)], self.end) {
            if !is_out_of_space(&error) {
                return Err(self.fail(error));
            }
            if let Err(error) = self.file.set_len(self.end) {
                return Err(self.fail(error));
            }
            return Err(cannot("append to", &self.dir.join(name(self.number)))(error));
        }
        if let Err(error) = self.file.sync_data() {
            return Err(self.fail(error));
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Puts a snapshot of `tree` in place of the journal if that has grown long.
    ///
    /// # Errors
    /// `Io` when space is short: the old journal serves on and the next attempt comes later.
    pub(super) fn replace_if_long(&mut self, tree: &Tree) -> Result<(), StoreError> {
        if self.end < self.replace_at {
            return Ok(());
        }
        let number = self.number + 1;
        let (file, end) = match write_unfinished(&*self.disk, &self.dir, number, tree) {
            Ok(written) => written,
            Err(StoreError::Io { source, .. }) if !is_out_of_space(&source) => {
                return Err(self.fail(source));
            }
            Err(error) => {
                self.replace_at = self.end + self.growth;
                return Err(error);
            }
        };
        if let Err(error) = publish(&*self.disk, &self.dir, number) {
            // Which of the two counts after a crash is not known, so none can be appended to.
            return Err(self.fail(error));
        }
        let old = self.dir.join(name(self.number));
        (self.file, self.end, self.number) = (file, end, number);
        self.replace_at = end + self.growth;
        // Left behind, it is removed when the store is opened.
        self.disk.remove_file(&old).map_err(cannot("remove", &old))
    }

    fn fail(&mut self, error: io::Error) -> StoreError {
        let cause = Arc::new(error);
        self.failed = Some(Arc::clone(&cause));
        StoreError::Failed(cause)
    }
}

/// Removes unfinished and replaced journals; returns the number of the one that counts.
fn remove_leftovers(disk: &dyn Disk, dir: &Path) -> Result<Option<u64>, StoreError> {
    let entries = disk.list(dir).map_err(cannot("list", dir))?;
    // A new journal's name may not be durable yet; before that the old one must not go.
    disk.sync_dir(dir).map_err(cannot("flush", dir))?;
    let newest = entries.iter().filter_map(|entry| number_of(&entry.name)).max();
    for entry in &entries {
        let replaced = number_of(&entry.name).is_some_and(|number| Some(number) != newest);
        let unfinished = entry.name.strip_suffix(".tmp").is_some_and(|n| number_of(n).is_some());
        if replaced || unfinished {
            let path = dir.join(&entry.name);
            disk.remove_file(&path).map_err(cannot("remove", &path))?;
        }
    }
    Ok(newest)
}

/// Writes a journal that begins with a snapshot of `tree` and does not count yet.
fn write_unfinished(
    disk: &dyn Disk,
    dir: &Path,
    number: u64,
    tree: &Tree,
) -> Result<(Arc<dyn File>, u64), StoreError> {
    let bytes = snapshot(tree);
    let path = dir.join(unfinished(number));
    let file = disk.open(&path, OpenMode::Create).map_err(cannot("create", &path))?;
    file.set_len(0)
        .and_then(|()| write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0))
        .and_then(|()| file.sync_data())
        .map_err(cannot("write", &path))?;
    Ok((file, bytes.len() as u64))
}

/// Makes the unfinished journal the one that counts, durably.
fn publish(disk: &dyn Disk, dir: &Path, number: u64) -> io::Result<()> {
    disk.rename(&dir.join(unfinished(number)), &dir.join(name(number)))?;
    disk.sync_dir(dir)
}

fn snapshot(tree: &Tree) -> Vec<u8> {
    let put = |(path, entry): (&String, _)| Change::Put(path.clone(), Clone::clone(entry));
    let nodes: Vec<Change> = tree.entries().map(put).collect();
    let records = nodes.chunks(SNAPSHOT_RECORD_NODES);
    let snapshot_records = u32::try_from(records.len()).unwrap_or(u32::MAX);
    let header = Header { format: FORMAT, snapshot_records, snapshot_txn: tree.last_txn };
    let mut bytes = header.encode();
    assert!(bytes.len() == HEADER_SIZE, "a header has {HEADER_SIZE} bytes: {}", bytes.len());
    for record in records {
        bytes.extend(encode_record(tree.last_txn, record));
    }
    bytes
}

/// All bytes of the file, as the medium has them.
fn read_all(file: &dyn File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match file.read_medium_at(&mut bytes[done..], done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn name(number: u64) -> String {
    format!("{number:020}{SUFFIX}")
}

fn unfinished(number: u64) -> String {
    format!("{}.tmp", name(number))
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

fn cannot<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { action, file: path.to_owned(), source }
}
