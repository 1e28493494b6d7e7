//! A data directory as a map from path to bytes: the committed one, and one on a disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::IoSlice;
use std::path::{Path, PathBuf};

use streamlog::io::{Disk, OpenMode, read_exact_at, write_all_at};

/// File contents by path, relative to the data directory.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The path of the committed directory.
pub(super) fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data-directory")
}

/// The committed directory.
pub(super) fn fixture() -> Files {
    let mut files = Files::new();
    let mut folders = vec![fixture_dir()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(fixture_dir()).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Makes these the committed directory.
pub(super) fn commit(files: &Files) {
    if fixture_dir().exists() {
        fs::remove_dir_all(fixture_dir()).unwrap();
    }
    copy_to(&fixture_dir(), files);
}

/// Writes the files below a directory of this machine.
pub(super) fn copy_to(dir: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Writes one file on a disk.
pub(super) fn put(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    disk.create_dir(path.parent().unwrap()).unwrap();
    let file = disk.open(path, OpenMode::CreateNew).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(bytes)], 0).unwrap();
}

/// All files below a directory of a disk, except the lock file, which names a process.
pub(super) fn files_of(disk: &dyn Disk, root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in disk.list(&folder).unwrap() {
            let path = folder.join(&entry.name);
            if entry.is_dir {
                folders.push(path);
            } else if entry.name != ".lock" {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, bytes_of(disk, &path));
            }
        }
    }
    files
}

fn bytes_of(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}
