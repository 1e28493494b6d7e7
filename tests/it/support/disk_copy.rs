//! The files of a disk in memory, to be changed and written to other disks.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, MemoryDisk, OpenMode, read_exact_at, write_all_at};

/// Paths and bytes of files.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// The files in a directory and all below it.
pub(crate) fn files_in(disk: &dyn Disk, dir: &Path) -> Files {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in disk.list(&folder).unwrap() {
            let path = folder.join(&entry.name);
            if entry.is_dir {
                folders.push(path);
                continue;
            }
            let file = disk.open(&path, OpenMode::Read).unwrap();
            let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
            read_exact_at(&*file, &mut bytes, 0).unwrap();
            files.push((path, bytes));
        }
    }
    files
}

/// A disk that has these files and nothing else.
pub(crate) fn disk_of(files: &Files) -> FaultyDisk {
    let disk = MemoryDisk::default();
    for (path, bytes) in files {
        disk.create_dir(path.parent().unwrap()).unwrap();
        let file = disk.open(path, OpenMode::Create).unwrap();
        write_all_at(&*file, &mut [IoSlice::new(bytes)], 0).unwrap();
    }
    FaultyDisk::new(Arc::new(disk), 1)
}
