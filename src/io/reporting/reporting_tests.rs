//! Tests of the log lines about a disk's errors.

use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::ReportingDisk;
use super::error_log::{ErrorListener, ErrorLog, FILES_MAX, INTERVAL};
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, Disk, File, ManualClock, MemoryDisk, OpenMode};

/// Lines of a log, in the order in which they were written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

const FAILED_SYNC: &str = "a sync has failed";

impl Lines {
    fn listener(&self) -> ErrorListener {
        let (lines, failures) = (self.clone(), self.clone());
        ErrorListener {
            write_line: Box::new(move |line| lines.add(line)),
            on_failed_sync: Box::new(move || failures.add(FAILED_SYNC)),
        }
    }

    fn add(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    /// The lines since the last call.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Setup {
    faulty: FaultyDisk,
    clock: Arc<ManualClock>,
    lines: Lines,
    disk: ReportingDisk,
}

fn setup() -> Setup {
    let faulty = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (clock, lines) = (Arc::new(ManualClock::default()), Lines::default());
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let disk = ReportingDisk::telling(Arc::new(faulty.clone()), shared, lines.listener());
    Setup { faulty, clock, lines, disk }
}

fn open(disk: &dyn Disk, path: &str) -> Arc<dyn File> {
    disk.open(Path::new(path), OpenMode::Create).unwrap()
}

#[test]
fn an_error_is_logged_once_a_minute_for_each_file() {
    let Setup { faulty, clock, lines, disk } = setup();
    let (a, b) = (open(&disk, "/a.log"), open(&disk, "/b.log"));
    faulty.inject(Fault::new(Operation::Read, Failure::InputOutput).on(".log").for_ever());
    for _ in 0..3 {
        assert!(a.read_at(&mut [0], 0).is_err() && b.read_at(&mut [0], 0).is_err());
    }
    let logged = lines.take();
    assert_eq!(logged.len(), 2, "{logged:?}");
    assert!(logged[0].starts_with("cannot read '/a.log': "), "{logged:?}");
    assert!(logged[0].contains("(os error 5); check the disk"), "{logged:?}");

    clock.advance(INTERVAL);
    assert!(a.read_at(&mut [0], 0).is_err());
    assert_eq!(lines.take().len(), 1);
}

#[test]
fn every_operation_is_logged_by_its_name() {
    for (operation, words) in [
        (Operation::Open, "cannot open '/d/f'"),
        (Operation::Write, "cannot write '/d/f'"),
        (Operation::ReadMedium, "cannot read '/d/f'"),
        (Operation::SetLen, "cannot set the length of '/d/f'"),
        (Operation::SyncData, "cannot sync '/d/f'"),
        (Operation::Rename, "cannot rename '/d/f'"),
        (Operation::SyncDir, "cannot sync '/d'"),
    ] {
        let Setup { faulty, lines, disk, .. } = setup();
        disk.create_dir(Path::new("/d")).unwrap();
        let file = open(&disk, "/d/f");
        faulty.inject(Fault::new(operation, Failure::InputOutput));
        let failed = [
            disk.open(Path::new("/d/f"), OpenMode::Read).map(drop),
            file.write_at(&[IoSlice::new(b"x")], 0).map(drop),
            file.read_medium_at(&mut [0], 0).map(drop),
            file.set_len(1),
            file.sync_data(),
            disk.rename(Path::new("/d/f"), Path::new("/d/g")),
            disk.sync_dir(Path::new("/d")),
        ];
        assert_eq!(failed.iter().filter(|result| result.is_err()).count(), 1, "{operation:?}");
        let mut logged = lines.take();
        let is_sync = matches!(operation, Operation::SyncData | Operation::SyncDir);
        assert_eq!(logged.iter().any(|line| line == FAILED_SYNC), is_sync, "{operation:?}");
        logged.retain(|line| line != FAILED_SYNC);
        assert!(logged.len() == 1 && logged[0].starts_with(words), "{logged:?}");
    }
}

#[test]
fn a_sync_that_fails_for_want_of_space_is_told_and_one_that_was_not_tried_is_not() {
    let Setup { faulty, lines, disk, .. } = setup();
    let file = open(&disk, "/f");
    for (failure, told) in
        [(Failure::NoSpace, &[FAILED_SYNC][..]), (Failure::TooManyOpenFiles, &[])]
    {
        faulty.inject(Fault::new(Operation::SyncData, failure));
        assert!(file.sync_data().is_err());
        let mut lines = lines.take();
        lines.retain(|line| line == FAILED_SYNC);
        assert_eq!(lines, told, "{failure:?}");
    }
}

#[test]
fn expected_errors_and_a_full_disk_are_not_logged() {
    let Setup { faulty, lines, disk, .. } = setup();
    let absent = disk.open(Path::new("/none"), OpenMode::Read).unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound);
    let file = open(&disk, "/f");
    faulty.inject(Fault::new(Operation::Write, Failure::NoSpace));
    assert!(file.write_at(&[IoSlice::new(b"x")], 0).is_err());
    assert_eq!(lines.take(), [""; 0]);
}

#[test]
fn the_log_of_a_disk_that_fails_altogether_is_bounded() {
    let lines = Lines::default();
    let log = ErrorLog::new(Arc::new(ManualClock::default()), lines.listener());
    for number in 0..2 * FILES_MAX {
        let path = format!("/{number}");
        log.report("read", Path::new(&path), &std::io::Error::from_raw_os_error(5));
    }
    assert_eq!(lines.take().len(), FILES_MAX);
}
