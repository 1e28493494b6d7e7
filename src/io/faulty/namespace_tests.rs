//! Random changes of a tree of directories on a faulty disk, against a disk in memory.
//!
//! Both must answer alike while the power is on. After a power failure the tree must be
//! consistent, and after a sync of everything it must be the same tree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::FaultyDisk;
use crate::io::{Disk, MemoryDisk, OpenMode, SeededRandom};
use crate::types::seeds;

/// Every path below `dir`; directories end in a slash.
fn tree(disk: &dyn Disk, dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in disk.list(dir).unwrap() {
        let path = dir.join(entry.name);
        if entry.is_dir {
            found.push(format!("{}/", path.display()));
            found.extend(tree(disk, &path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

fn copy(paths: &[String]) -> MemoryDisk {
    let disk = MemoryDisk::default();
    for path in paths {
        if path.ends_with('/') {
            disk.create_dir(Path::new(path)).unwrap();
        } else {
            disk.open(Path::new(path), OpenMode::CreateNew).unwrap();
        }
    }
    disk
}

fn any_path(random: &mut SeededRandom) -> PathBuf {
    let mut path = PathBuf::from("/");
    for _ in 0..random.between(1, 3) {
        path.push(["a", "b", "c"][random.index(3)]);
    }
    path
}

/// A call as a value, so that both disks get the same call.
enum Call {
    Create(PathBuf),
    CreateDir(PathBuf),
    RemoveFile(PathBuf),
    RemoveDir(PathBuf),
    Rename(PathBuf, PathBuf),
    SyncDir(PathBuf),
    List(PathBuf),
    Exists(PathBuf),
}

impl Call {
    fn any(random: &mut SeededRandom) -> Self {
        let path = any_path(random);
        match random.below(15) {
            0..=2 => Self::Create(path),
            3..=5 => Self::CreateDir(path),
            6 => Self::RemoveFile(path),
            7..=8 => Self::RemoveDir(path),
            9..=11 => Self::Rename(path, any_path(random)),
            12 => Self::SyncDir(path),
            13 => Self::List(path),
            _ => Self::Exists(path),
        }
    }

    fn answer(&self, disk: &dyn Disk) -> String {
        let kind = |result: io::Result<()>| format!("{:?}", result.map_err(|error| error.kind()));
        match self {
            Self::Create(path) => kind(disk.open(path, OpenMode::CreateNew).map(drop)),
            Self::CreateDir(path) => kind(disk.create_dir(path)),
            Self::RemoveFile(path) => kind(disk.remove_file(path)),
            Self::RemoveDir(path) => kind(disk.remove_dir(path)),
            Self::Rename(from, to) => kind(disk.rename(from, to)),
            Self::SyncDir(path) => kind(disk.sync_dir(path)),
            Self::Exists(path) => format!("{:?}", disk.exists(path).map_err(|error| error.kind())),
            Self::List(path) => format!("{:?}", disk.list(path).map_err(|error| error.kind())),
        }
    }
}

#[test]
fn a_tree_works_normally_and_is_consistent_after_a_power_failure() {
    for seed in seeds(2000) {
        let mut random = SeededRandom::new(seed);
        let medium = MemoryDisk::default();
        let mut disk = FaultyDisk::new(Arc::new(medium.clone()), seed);
        disk.set_write_back(seed % 4);
        let mut reference = MemoryDisk::default();
        for round in 0..4 {
            for _ in 0..random.between(1, 50) {
                let call = Call::any(&mut random);
                assert_eq!(call.answer(&disk), call.answer(&reference));
            }
            let before = tree(&disk, Path::new("/"));
            assert_eq!(before, tree(&reference, Path::new("/")));
            if round % 2 == 0 {
                disk.sync_filesystem(Path::new("/")).unwrap();
                assert_eq!(tree(&medium, Path::new("/")), before);
            }
            disk = disk.crash(random.number()).unwrap();
            let left = tree(&disk, Path::new("/"));
            assert_eq!(left, tree(&medium, Path::new("/")));
            assert!(round % 2 == 1 || left == before);
            reference = copy(&left);
        }
    }
}
