//! Tests of the check that a name still refers to the open file, on every disk implementation.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::faulty::FaultyDisk;
use super::{
    Disk, MemoryDisk, OpenMode, SystemDisk, is_displaced, is_failed_sync, require_dir_in_place,
    require_in_place, same_error,
};

fn on_every_disk(check: impl Fn(&dyn Disk, &Path)) {
    let outside = TempDir::new().unwrap();
    check(&SystemDisk::default(), outside.path());
    check(&MemoryDisk::default(), Path::new("/"));
    check(&FaultyDisk::new(Arc::new(MemoryDisk::default()), 1), Path::new("/"));
}

#[test]
fn a_file_is_in_place_while_its_name_refers_to_it() {
    on_every_disk(|disk, root| {
        let (dir, path) = (root.join("dir"), root.join("dir/file"));
        disk.create_dir(&dir).unwrap();
        let file = disk.open(&path, OpenMode::CreateNew).unwrap();
        let look = || require_in_place(disk, &path, &*file);
        look().unwrap();
        let again = disk.open(&path, OpenMode::Read).unwrap();
        assert_eq!(again.inode().unwrap(), file.inode().unwrap());

        disk.rename(&path, &root.join("aside")).unwrap();
        let removed = look().unwrap_err();
        assert!(is_displaced(&removed) && !is_failed_sync(&removed), "{removed}");
        assert!(is_displaced(&same_error(&removed)), "{removed}");
        disk.open(&path, OpenMode::CreateNew).unwrap();
        let replaced = look().unwrap_err();
        assert!(is_displaced(&replaced), "{replaced}");
        assert_ne!(removed.to_string(), replaced.to_string());
        disk.rename(&root.join("aside"), &path).unwrap();
        look().unwrap();

        disk.rename(&dir, &root.join("moved")).unwrap();
        assert!(is_displaced(&look().unwrap_err()));
        // A file where a directory is expected counts as absent too.
        disk.open(&dir, OpenMode::CreateNew).unwrap();
        assert!(is_displaced(&look().unwrap_err()));
    });
}

#[test]
fn a_recreated_directory_is_a_different_one() {
    on_every_disk(|disk, root| {
        let dir = root.join("data");
        disk.create_dir(&dir).unwrap();
        let held = disk.lock(&dir, &dir.join(".lock"), "a test").unwrap();
        let look = || require_dir_in_place(disk, &dir, held.inode());
        look().unwrap();
        disk.remove_file(&dir.join(".lock")).unwrap();
        look().unwrap();
        let refused = disk.lock(&dir, &dir.join(".lock"), "another").map(drop).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock);

        disk.remove_dir(&dir).unwrap();
        assert!(is_displaced(&look().unwrap_err()));
        disk.create_dir(&dir).unwrap();
        assert!(is_displaced(&look().unwrap_err()));
        disk.lock(&dir, &dir.join(".lock"), "another").unwrap();
    });
}
