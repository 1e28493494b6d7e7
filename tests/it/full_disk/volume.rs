//! A small file system of its own, mounted for a test, and a file that fills it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Bytes of every volume.
const SIZE: u64 = 16 << 20;

/// A kind of file system.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileSystem {
    /// ext4 in an image behind a loop device, with blocks of so many bytes.
    Ext4(u32),
    /// Memory.
    Tmpfs,
}

/// A mounted file system. It is unmounted when the value goes, however the test ends.
pub(super) struct Volume {
    dir: TempDir,
    filler: File,
    filled: u64,
}

impl Volume {
    /// Makes a file system and mounts it.
    ///
    /// # Panics
    /// When this user may not mount anything.
    pub(super) fn mount(kind: FileSystem) -> Self {
        let dir = TempDir::new().unwrap();
        let mount = dir.path().join("mount");
        fs::create_dir(&mount).unwrap();
        match kind {
            FileSystem::Ext4(block) => {
                let image = dir.path().join("image");
                File::create(&image).unwrap().set_len(SIZE).unwrap();
                run(Command::new("mkfs.ext4").args(["-q", "-b", &block.to_string()]).arg(&image));
                run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount));
            }
            FileSystem::Tmpfs => {
                let size = format!("size={SIZE}");
                let mut command = Command::new("mount");
                run(command.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&mount));
            }
        }
        let filler = mount.join("filler");
        let filler = OpenOptions::new().append(true).create(true).open(filler).unwrap();
        Self { dir, filler, filled: 0 }
    }

    /// The place for a data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.mounted().join("data")
    }

    /// Takes all the room there is, but for so many bytes.
    pub(super) fn fill(&mut self, but_for: u64) {
        for size in [64 << 10, 1 << 10, 1] {
            let bytes = vec![b'x'; size];
            loop {
                match self.filler.write(&bytes) {
                    Ok(count) => self.filled += count as u64,
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("the volume cannot be filled: {error}"),
                }
            }
        }
        self.filler.sync_all().unwrap();
        self.free(but_for);
    }

    /// Gives so many bytes back, or all that were taken.
    pub(super) fn free(&mut self, bytes: u64) {
        self.filled = self.filled.saturating_sub(bytes);
        self.filler.set_len(self.filled).unwrap();
        self.filler.sync_all().unwrap();
    }

    /// Gives everything back.
    pub(super) fn empty(&mut self) {
        self.free(u64::MAX);
    }

    fn mounted(&self) -> PathBuf {
        self.dir.path().join("mount")
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        unmount(&self.mounted());
    }
}

/// Unmounts even if somebody still has a file open there, as after a test that failed.
fn unmount(mount: &Path) {
    let status = Command::new("umount").arg("--lazy").arg(mount).status();
    assert!(status.is_ok_and(|status| status.success()), "'{}' stays mounted", mount.display());
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} (to be run by root): {said}");
}
