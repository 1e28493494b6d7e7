//! The disks of machines: empty ones, and copies of what a machine has had on its disk.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, Entry, MemoryDisk, OpenMode, read_exact_at, write_all_at};
use streamlog::types::{BrokerId, TopicPartition};

/// The directory that a copy contains.
pub(crate) const DIRECTORY: &str = "/data";

/// One call of a disk in this many writes something back on its own.
const WRITE_BACK_ONE_IN: u64 = 40;

/// An empty disk, which forgets what was not synced.
pub(crate) fn empty(seed: u64) -> FaultyDisk {
    over(MemoryDisk::default(), seed)
}

/// A disk with the content of another, durable at once; `None` if that has no data directory.
pub(crate) fn copy_of(disk: &FaultyDisk, seed: u64) -> Option<FaultyDisk> {
    let (path, copy) = (Path::new(DIRECTORY), MemoryDisk::default());
    if !disk.exists(path).unwrap() {
        return None;
    }
    copy_dir((disk, &copy), path);
    Some(over(copy, seed))
}

fn over(inner: MemoryDisk, seed: u64) -> FaultyDisk {
    let disk = FaultyDisk::new(Arc::new(inner), seed);
    disk.set_write_back(WRITE_BACK_ONE_IN);
    disk
}

fn copy_dir((from, to): (&dyn Disk, &dyn Disk), dir: &Path) {
    to.create_dir(dir).unwrap();
    for Entry { name, is_dir } in from.list(dir).unwrap() {
        let path = dir.join(name);
        if is_dir {
            copy_dir((from, to), &path);
        } else {
            let source = from.open(&path, OpenMode::Read).unwrap();
            let mut bytes = vec![0; usize::try_from(source.len().unwrap()).unwrap()];
            read_exact_at(&*source, &mut bytes, 0).unwrap();
            let target = to.open(&path, OpenMode::CreateNew).unwrap();
            write_all_at(&*target, &mut [IoSlice::new(&bytes)], 0).unwrap();
        }
    }
}

/// True if the data directory of a disk belongs to this broker.
pub(crate) fn is_of(disk: &FaultyDisk, broker: BrokerId) -> bool {
    let path = Path::new(DIRECTORY).join("meta.properties");
    let Ok(file) = disk.open(&path, OpenMode::Read) else { return false };
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    let wanted = format!("broker.id={broker}");
    String::from_utf8(bytes).unwrap().lines().any(|line| line == wanted)
}

/// Cuts off the end of a partition's last segment, and leaves `percent` of it; durably. Returns
/// false if it is empty, or there is none.
pub(crate) fn cut_log(disk: &FaultyDisk, partition: &TopicPartition, percent: u64) -> bool {
    let dir = Path::new(DIRECTORY).join(partition.to_string());
    if !disk.exists(&dir).unwrap() {
        return false;
    }
    let files = disk.list(&dir).unwrap().into_iter().map(|entry| dir.join(entry.name));
    let Some(last) = files.filter(|path| is_segment(path)).max() else { return false };
    let file = disk.open(&last, OpenMode::Write).unwrap();
    let length = file.len().unwrap();
    file.set_len(length * percent / 100).unwrap();
    file.sync_data().unwrap();
    length > 0
}

fn is_segment(path: &Path) -> bool {
    path.extension() == Some("log".as_ref())
}

/// Removes the log of a partition, or only its last segment with the files beside it; durably.
/// Returns false if there is none.
pub(crate) fn remove_log(disk: &FaultyDisk, partition: &TopicPartition, is_whole: bool) -> bool {
    let dir = Path::new(DIRECTORY).join(partition.to_string());
    if !disk.exists(&dir).unwrap() {
        return false;
    }
    let files = disk.list(&dir).unwrap().into_iter().map(|entry| entry.name);
    let mut files: Vec<_> = files.collect();
    let base = |name: &str| name.split_once('.').map(|(base, _)| base.to_owned());
    if !is_whole {
        let segments = files.iter().filter(|name| is_segment(Path::new(name)));
        let Some(last) = segments.max().cloned() else { return false };
        files.retain(|name| base(name) == base(&last));
    }
    for name in &files {
        disk.remove_file(&dir.join(name)).unwrap();
    }
    if is_whole {
        disk.remove_dir(&dir).unwrap();
        disk.sync_dir(Path::new(DIRECTORY)).unwrap();
    } else {
        disk.sync_dir(&dir).unwrap();
    }
    true
}
