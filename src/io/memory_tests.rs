//! The file system in memory behaves as the kernel's does, calls and errors alike.

use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::{Disk, File, MemoryDisk, OpenMode, SystemDisk};

fn write(file: &Arc<dyn File>, bytes: &[u8], position: u64) {
    assert_eq!(file.write_at(&[IoSlice::new(bytes)], position).unwrap(), bytes.len());
}

fn contents(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

/// Runs `steps` on the system's disk and on one in memory, and compares the results they collect.
fn both(steps: impl Fn(&dyn Disk, &Path) -> Vec<String>) {
    let directory = TempDir::new().unwrap();
    let system = steps(&SystemDisk::default(), directory.path());
    let memory = MemoryDisk::default();
    memory.create_dir(Path::new("/data")).unwrap();
    assert_eq!(steps(&memory, Path::new("/data")), system);
}

fn kind<T>(result: std::io::Result<T>) -> String {
    result.map_or_else(|error| error.kind().to_string(), |_| "done".to_owned())
}

#[test]
fn names_answer_as_in_the_kernel() {
    both(|disk, root| {
        let at = |name: &str| root.join(name);
        let mut answers = Vec::new();
        answers.push(kind(disk.open(&at("a"), OpenMode::Read)));
        answers.push(kind(disk.open(&at("a"), OpenMode::Write)));
        answers.push(kind(disk.open(&at("a"), OpenMode::Create)));
        answers.push(kind(disk.open(&at("a"), OpenMode::CreateNew)));
        answers.push(kind(disk.open(&at("none/a"), OpenMode::Create)));
        answers.push(kind(disk.open(&at("a/b"), OpenMode::Create)));
        answers.push(kind(disk.create_dir(&at("a"))));
        answers.push(kind(disk.create_dir(&at("a/b/c"))));
        answers.push(kind(disk.exists(&at("a/b"))));
        answers.push(kind(disk.rename(&at("none"), &at("a/b"))));
        answers.push(kind(disk.rename(&at("a"), &at("none/b"))));
        answers.push(kind(disk.create_dir(&at("d/e/f"))));
        answers.push(kind(disk.remove_dir(&at("d"))));
        answers.push(kind(disk.remove_file(&at("d"))));
        answers.push(kind(disk.remove_dir(&at("a"))));
        answers.push(kind(disk.remove_file(&at("none"))));
        answers.push(kind(disk.rename(&at("none"), &at("b"))));
        answers.push(kind(disk.rename(&at("a"), &at("d"))));
        answers.push(kind(disk.rename(&at("d"), &at("a"))));
        answers.push(kind(disk.rename(&at("d"), &at("d/e/g"))));
        answers.push(kind(disk.rename(&at("d/e"), &at("e"))));
        answers.push(kind(disk.rename(&at("e"), &at("d"))));
        answers.push(format!("{:?}", disk.list(root)));
        answers.push(format!("{:?}", disk.list(&at("d"))));
        answers.push(kind(disk.list(&at("none"))));
        answers.push(kind(disk.list(&at("a"))));
        answers.push(kind(disk.sync_dir(&at("none"))));
        answers
    });
}

#[test]
fn bytes_answer_as_in_the_kernel() {
    both(|disk, root| {
        let path = root.join("a");
        let file = disk.open(&path, OpenMode::Create).unwrap();
        write(&file, b"abc", 4);
        write(&file, b"", 100);
        file.set_len(6).unwrap();
        file.set_len(9).unwrap();
        let read_only = disk.open(&path, OpenMode::Read).unwrap();
        vec![
            format!("{:?}", contents(disk, &path)),
            kind(read_only.write_at(&[IoSlice::new(b"x")], 0)),
            format!("{:?}", file.read_at(&mut [0; 4], 7).unwrap()),
            format!("{:?}", file.read_at(&mut [0; 4], 9).unwrap()),
            format!("{:?}", file.read_at(&mut [0; 4], 99).unwrap()),
        ]
    });
}

#[test]
fn a_renamed_file_replaces_the_one_that_had_the_name() {
    both(|disk, root| {
        let (old, new) = (root.join("x"), root.join("x.tmp"));
        let before = disk.open(&old, OpenMode::Create).unwrap();
        write(&before, b"old", 0);
        write(&disk.open(&new, OpenMode::Create).unwrap(), b"newer", 0);
        disk.rename(&new, &old).unwrap();
        let mut kept = [0; 3];
        before.read_at(&mut kept, 0).unwrap();
        vec![format!("{:?} {kept:?} {:?}", contents(disk, &old), disk.exists(&new).unwrap())]
    });
}

#[test]
fn clones_share_files_and_locks() {
    let disk = MemoryDisk::default();
    let clone = disk.clone();
    write(&disk.open(Path::new("a"), OpenMode::Create).unwrap(), b"abc", 0);
    assert_eq!(contents(&clone, Path::new("./a")), b"abc");

    let (here, there) = (Path::new("."), Path::new("/"));
    let held = disk.lock(here, Path::new(".lock"), "the first").unwrap();
    let refused = clone.lock(there, Path::new("/.lock"), "the second").unwrap_err();
    assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::WouldBlock, "the first".into()));
    drop(held);
    assert!(clone.lock(here, Path::new(".lock"), "the second").is_ok());
}
