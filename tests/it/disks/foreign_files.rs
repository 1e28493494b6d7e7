//! Files and mounts of others in a data directory prevent no start.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{BrokerProcess, batch};

const NOBODY: u32 = 65_534;

fn run(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program).args(arguments).arg(path).status().unwrap();
    assert!(status.success(), "{program} {}: {status}", path.display());
}

/// A file system that is mounted at a path until the value is dropped.
struct Mount(PathBuf);

impl Mount {
    fn at(path: PathBuf) -> Self {
        fs::create_dir_all(&path).unwrap();
        run("mount", &["-t", "tmpfs", "-o", "size=1m", "foreign"], &path);
        fs::write(path.join("kept"), "theirs").unwrap();
        Self(path)
    }

    fn assert_has_its_file(&self) {
        assert_eq!(fs::read_to_string(self.0.join("kept")).unwrap(), "theirs");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &[], &self.0);
    }
}

/// A file that nobody may change, move or remove until the value is dropped.
struct Immutable(PathBuf);

impl Immutable {
    fn at(path: PathBuf) -> Self {
        fs::write(&path, "theirs").unwrap();
        run("chattr", &["+i"], &path);
        Self(path)
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        run("chattr", &["-i"], &self.0);
    }
}

/// The number of lines of a broker's log with these words.
fn count(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

#[test]
fn what_cannot_be_moved_away_is_left_alone_and_named_once() {
    let outside = TempDir::new().unwrap();
    let data = outside.path().join("data");
    let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    broker.make_test_topic();
    assert_eq!(broker.connect().produce(batch([7]), -1).unwrap(), Ok(0));
    assert!(broker.stop().success());

    let mounts = [Mount::at(data.join("volume")), Mount::at(data.join("photos/of/a/volume"))];
    let immutable = Immutable::at(data.join("notes.txt"));
    let odd = data.join(OsStr::from_bytes(b"odd-\xFF"));
    fs::write(&odd, "theirs").unwrap();
    let theirs = data.join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o500)).unwrap();

    let broker = BrokerProcess::start(&data, &[], |_| {}).unwrap();
    assert_eq!(broker.connect().read_from(0).unwrap(), [(0, 7)]);
    assert_eq!(broker.connect().produce(batch([8]), -1).unwrap(), Ok(1));
    mounts.iter().for_each(Mount::assert_has_its_file);
    assert!(immutable.0.exists() && odd.exists());
    let log = broker.log();
    for name in ["volume", "photos", "notes.txt", "odd-\u{FFFD}"] {
        let words = format!("left '{}' alone", data.join(name).display());
        assert_eq!(count(&log, &words), 1, "{name}: {log}");
    }
    // A process that may move it does so, with what it holds.
    assert!(!theirs.exists());
    assert_eq!(count(&log, "moved to '"), 1, "{log}");
    assert!(broker.stop().success());
}
