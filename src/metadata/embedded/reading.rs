//! Reading the journal that is in force, from both of its sides.

use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::metadata::embedded::codec::{FORMAT, Header};
use crate::metadata::embedded::files::{Content, Listing, Side, SideFlaw};
use crate::metadata::embedded::recovery::{Damage, Replay, replay, salvage};
use crate::metadata::store::StoreError;
use crate::metadata::tree::Tree;

/// The journal in force, as its files have it.
#[derive(Debug)]
pub(super) struct JournalRead {
    pub(super) number: u64,
    pub(super) header: Header,
    /// The contents of both sides, in the order of [`Side::ALL`].
    pub(super) contents: Vec<Content>,
    pub(super) replay: Replay,
}

/// Reads the journal with the highest number. If a crash left only one side of it and that side is
/// damaged, nothing had been appended to it, and the previous journal is still in force.
///
/// # Errors
/// `JournalMissing`, `Damaged`, `NewerFormat`, or the error of the disk.
pub(super) fn read_newest(
    disk: &dyn Disk,
    dir: &Path,
    listing: &Listing,
) -> Result<JournalRead, StoreError> {
    let mut numbers = listing.journals.iter().rev();
    let Some((newest, sides)) = numbers.next() else {
        return Err(StoreError::JournalMissing { dir: dir.to_owned() });
    };
    let read = read(disk, dir, *newest);
    if matches!(read, Err(StoreError::Damaged { .. }))
        && sides.len() < Side::ALL.len()
        && let Some((before, _)) = numbers.next()
        && let Ok(before) = self::read(disk, dir, *before)
        && before.header.has_mirror
    {
        return Ok(before);
    }
    read
}

fn read(disk: &dyn Disk, dir: &Path, number: u64) -> Result<JournalRead, StoreError> {
    let contents = contents(disk, dir, number)?;
    let sides: Vec<&[u8]> = contents.iter().map(Content::bytes).collect();
    let file = Side::Primary.path(dir, number);
    let damaged = |Damage { position, reason }| StoreError::Damaged {
        file: file.clone(),
        position: position as u64,
        reason,
    };
    let Some(header) = sides.iter().find_map(|side| Header::decode(side)) else {
        return Err(damaged(Damage { position: 0, reason: "this is no journal's header" }));
    };
    if header.format > FORMAT {
        let (found, newest) = (header.format, FORMAT);
        return Err(StoreError::NewerFormat { file, found, newest });
    }
    let replay = replay(&header, &sides).map_err(damaged)?;
    Ok(JournalRead { number, header, contents, replay })
}

fn contents(disk: &dyn Disk, dir: &Path, number: u64) -> Result<Vec<Content>, StoreError> {
    Side::ALL.into_iter().map(|side| Content::read(disk, &side.path(dir, number))).collect()
}

/// Reads as much as is readable of the newest journal from which anything can be read, even if the
/// journal is damaged.
pub(super) fn salvage_newest(disk: &dyn Disk, dir: &Path) -> Result<Tree, StoreError> {
    if !disk.exists(dir).map_err(super::files::cannot("look for", dir))? {
        return Ok(Tree::new());
    }
    let listing = Listing::of(disk, dir)?;
    if let Ok(read) = read_newest(disk, dir, &listing) {
        return Ok(read.replay.tree);
    }
    for number in listing.journals.keys().rev() {
        let contents = contents(disk, dir, *number)?;
        let sides: Vec<&[u8]> = contents.iter().map(Content::bytes).collect();
        let tree = salvage(&sides);
        if tree.last_txn > 0 {
            return Ok(tree);
        }
    }
    Ok(Tree::new())
}

/// A fault in the files of the journal.
#[derive(Debug)]
pub struct JournalFinding {
    /// The file.
    pub file: PathBuf,
    /// The position of the fault in the file.
    pub position: u64,
    /// The fault.
    pub reason: String,
    /// True for damage; false for an unfinished write, which the next start completes or cuts off.
    pub is_damage: bool,
}

/// Checks the files of the journal in `dir` without changing them.
///
/// # Errors
/// The error of the disk, or `NewerFormat` if a later release wrote the journal.
pub fn inspect_journal(disk: &dyn Disk, dir: &Path) -> Result<Vec<JournalFinding>, StoreError> {
    let listing = Listing::of(disk, dir)?;
    let read = match read_newest(disk, dir, &listing) {
        Ok(read) => read,
        Err(StoreError::Damaged { file, position, reason }) => {
            let reason = format!("{reason}, and no other file has it");
            return Ok(vec![JournalFinding { file, position, reason, is_damage: true }]);
        }
        Err(StoreError::JournalMissing { dir: file }) => {
            let reason = "there is no metadata journal".to_owned();
            return Ok(vec![JournalFinding { file, position: 0, reason, is_damage: true }]);
        }
        Err(error) => return Err(error),
    };
    // A crash while a journal is being published may leave one of its sides and the previous
    // journal.
    let is_unpublished = listing.journals.len() > 1;
    let flaws = Side::ALL.into_iter().zip(&read.contents).filter_map(|(side, content)| {
        let flaw = content.flaw(&read.replay.bytes, read.replay.last_record)?;
        (side == Side::Primary || read.header.has_mirror).then(|| JournalFinding {
            file: side.path(dir, read.number),
            position: flaw.position() as u64,
            reason: flaw.to_string(),
            is_damage: flaw.is_damage() && !(flaw == SideFlaw::Absent && is_unpublished),
        })
    });
    Ok(flaws.collect())
}
