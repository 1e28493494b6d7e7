//! A small file system of its own, mounted for a test, and a file that fills it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The size of a volume.
const SIZE: u64 = 16 << 20;

/// A kind of file system.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileSystem {
    /// ext4 in an image behind a loop device, with blocks of this size.
    Ext4(u32),
    /// tmpfs.
    Tmpfs,
}

/// The program that mounts.
const MOUNT: &str = "mount";

/// A mounted file system. It is unmounted when the value is dropped, however the test ends.
pub(super) struct Volume {
    /// The actual kind.
    kind: FileSystem,
    /// The reason for which it is not of the requested kind.
    substitution: Option<String>,
    dir: TempDir,
    filler: File,
    filled: u64,
}

impl Volume {
    /// Creates a file system and mounts it. If no loop device can be mounted it is a tmpfs, as
    /// [`Volume::name`] and a line on standard error report.
    ///
    /// # Panics
    /// If this user may not mount anything.
    pub(super) fn mount(kind: FileSystem) -> Self {
        Self::mount_by(MOUNT, kind, SIZE)
    }

    /// The same with this size.
    pub(super) fn mount_sized(kind: FileSystem, size: u64) -> Self {
        Self::mount_by(MOUNT, kind, size)
    }

    /// The same with another program that mounts loop devices.
    fn mount_by(loop_mount: &str, asked: FileSystem, size: u64) -> Self {
        let dir = TempDir::new().unwrap();
        let mount = dir.path().join("mount");
        fs::create_dir(&mount).unwrap();
        let mounted = match asked {
            FileSystem::Ext4(block) => mount_image(loop_mount, (block, size), &mount),
            FileSystem::Tmpfs => mount_memory(size, &mount).map_err(|reason| panic!("{reason}")),
        };
        let substitution = mounted.err();
        let kind = if let Some(reason) = &substitution {
            mount_memory(size, &mount).unwrap();
            // Bypass the capture of the test harness, which hides the output of passing tests.
            let notice = format!("{asked:?} is replaced by tmpfs: {reason}\n");
            io::stderr().write_all(notice.as_bytes()).unwrap();
            FileSystem::Tmpfs
        } else {
            asked
        };
        let filler = mount.join("filler");
        let filler = OpenOptions::new().append(true).create(true).open(filler).unwrap();
        Self { kind, substitution, dir, filler, filled: 0 }
    }

    /// The kind of file system, and the reason for which it is not the requested kind.
    pub(super) fn name(&self) -> String {
        match &self.substitution {
            Some(reason) => format!("{:?}, for want of a loop device ({reason})", self.kind),
            None => format!("{:?}", self.kind),
        }
    }

    /// The path for a data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.mounted().join("data")
    }

    /// Fills the volume, except for this many bytes.
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

    /// Frees this many bytes, or all that were taken.
    pub(super) fn free(&mut self, bytes: u64) {
        self.filled = self.filled.saturating_sub(bytes);
        self.filler.set_len(self.filled).unwrap();
        self.filler.sync_all().unwrap();
    }

    /// Frees everything.
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

/// Unmounts even if a file is still open there, as after a failed test.
fn unmount(mount: &Path) {
    let status = Command::new("umount").arg("--lazy").arg(mount).status();
    assert!(status.is_ok_and(|status| status.success()), "'{}' stays mounted", mount.display());
}

/// Mounts an image of this size with an ext4 of this block size.
fn mount_image(program: &str, (block, size): (u32, u64), mount: &Path) -> Result<(), String> {
    let image = mount.with_file_name("image");
    File::create(&image).unwrap().set_len(size).unwrap();
    run(Command::new("mkfs.ext4").args(["-q", "-b", &block.to_string()]).arg(&image))?;
    run(Command::new(program).args(["-o", "loop"]).arg(&image).arg(mount))
}

fn mount_memory(size: u64, mount: &Path) -> Result<(), String> {
    let size = format!("size={size}");
    run(Command::new(MOUNT).args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(mount))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} (to be run by root): {}", said.trim()))
    }
}

#[test]
fn a_volume_without_a_loop_device_is_a_tmpfs_and_named_so() {
    let volume = Volume::mount_by("false", FileSystem::Ext4(4096), SIZE);
    assert!(volume.name().starts_with("Tmpfs, for want of a loop device"), "{}", volume.name());
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mounted = volume.mounted();
    let line = mounts.lines().find(|line| line.contains(&*mounted.to_string_lossy())).unwrap();
    assert!(line.starts_with("tmpfs "), "{line}");
}
