//! `streamlog log verify` checks every kind of file listed in the page on the storage format.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use streamlog::wire::ErrorCode;

use super::small_files::{DATA, SETTINGS, is_found, stopped_files};
use crate::support::{Files, LocalBroker, disk_of, values};

const PAGE: &str = include_str!("../../../docs/storage-format.md");

/// The way in which a changed bit of a kind of file is detected.
enum Kind {
    /// `log verify` finds it, in the first file whose path has this suffix.
    Found(&'static str),
    /// It is a directory whose files are covered by their own kinds.
    Directory,
    /// Its content is never used.
    Meaningless,
}

/// The kind of file that a name on the page stands for.
fn kind(name: &str) -> Kind {
    match name {
        "meta.properties"
        | "run"
        | "clean-stop"
        | "durable-point-checkpoint"
        | "rebuild-point-checkpoint"
        | "log-start-offset-checkpoint"
        | "high-watermark-checkpoint"
        | "scrub-checkpoint"
        | "audit.log"
        | "last-known-time"
        | "partition.metadata"
        | "leader-epoch-checkpoint"
        | "damaged"
        | "skipped"
        | "compacted" => Kind::Found(name_of(name)),
        "%020d.log" => Kind::Found(".log"),
        "%020d.index" => Kind::Found(".index"),
        "%020d.timeindex" => Kind::Found(".timeindex"),
        "%020d.seal" => Kind::Found(".seal"),
        "%020d.snapshot" => Kind::Found(".snapshot"),
        "….log.swap" => Kind::Found(".log.swap"),
        "metadata/" => Kind::Found(".journal"),
        "<topic>-<partition>/" => Kind::Directory,
        // Removed or created again at the next start, or not the engine's.
        ".lock"
        | "sync-failed"
        | "metadata.tmp/"
        | "<uuid>.tmp/"
        | "<uuid>.deleted/"
        | "reserve/"
        | "quarantine/"
        | "lost+found/"
        | ".snapshot/"
        | ".snapshots/"
        | ".zfs/"
        | "….log.cleaned"
        | "….index.cleaned"
        | "….timeindex.cleaned"
        | "….seal.cleaned"
        | "<file of a segment>.deleted" => Kind::Meaningless,
        _ => panic!("the page lists '{name}', of which this test knows nothing"),
    }
}

fn name_of(name: &str) -> &'static str {
    let start = PAGE.find(&format!("| `{name}`")).unwrap() + 3;
    &PAGE[start..start + name.len()]
}

/// The names in the tables of the data directory and of the directory of a log.
fn listed() -> BTreeSet<&'static str> {
    let section = |title: &str| {
        let start = PAGE.find(title).unwrap();
        let end = PAGE[start..].find("\n### ").unwrap() + start;
        PAGE[start..end].lines()
    };
    let rows = section("## 2. The data directory").chain(section("## 3. The directory of a log"));
    let cells = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

fn rows_of(rows: &[&str]) -> Vec<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

fn checked_text(rows: &[&str]) -> Vec<u8> {
    let lines = [vec!["0".to_owned(), rows.len().to_string()], rows_of(rows)].concat();
    let text = lines.join("\n") + "\n";
    format!("{text}crc {:08x}\n", crc32c::crc32c(text.as_bytes())).into_bytes()
}

/// The files of a stopped broker, and those kinds that only damage and compaction leave.
fn files_of_every_kind() -> Files {
    let settings = [SETTINGS, &[("log.index.interval.bytes", "128")]].concat();
    let mut files = stopped_files(10, &settings);
    let path = |name: &str| PathBuf::from(DATA).join(name);
    let decision = "2026-11-22T10:00:00.000Z skip-damage test-0 by=\"User\"";
    let crc = crc32c::crc32c(decision.as_bytes());
    let first = path("test-0/00000000000000000000.log");
    let batches = files.iter().find(|(path, _)| *path == first).unwrap().1.clone();
    files.extend([
        (path("scrub-checkpoint"), checked_text(&["test 0 -1 -1"])),
        (path("audit.log"), format!("{decision} crc={crc:08x}\n").into_bytes()),
        (path("test-0/damaged"), checked_text(&[])),
        (path("test-0/skipped"), checked_text(&[])),
        (path("test-0/compacted"), checked_text(&["0 0"])),
        (path("test-0/00000000000000000000.log.swap"), batches),
    ]);
    files
}

#[test]
fn a_changed_bit_in_any_kind_of_file_on_the_page_is_found() {
    let files = files_of_every_kind();
    assert!(!is_found(&disk_of(&files)), "a sound directory");
    let names = listed();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let Kind::Found(suffix) = kind(name) else { continue };
        let is_it = |path: &Path| path.to_string_lossy().ends_with(suffix);
        let index = files.iter().position(|(path, bytes)| is_it(path) && !bytes.is_empty());
        let index = index.unwrap_or_else(|| panic!("no file of the kind '{name}'"));
        let mut changed = files.clone();
        let middle = changed[index].1.len() / 2;
        changed[index].1[middle] ^= 4;
        assert!(is_found(&disk_of(&changed)), "{name}: {}", changed[index].0.display());
    }
}

#[test]
fn a_lost_file_of_batches_or_identity_is_found() {
    let files = files_of_every_kind();
    for name in ["meta.properties", "test-0/00000000000000000000.log", "test-0/partition.metadata"]
    {
        let path = Path::new(DATA).join(name);
        let left: Files = files.iter().filter(|(file, _)| *file != path).cloned().collect();
        assert!(is_found(&disk_of(&left)), "{name}");
    }
}

/// The broker reports that records are missing, or serves the remaining ones.
#[test]
fn without_a_segment_readers_get_an_error_and_never_other_records_in_its_place() {
    let files = stopped_files(40, SETTINGS);
    let path = Path::new(DATA).join("test-0/00000000000000000040.log");
    let left: Files = files.iter().filter(|(file, _)| *file != path).cloned().collect();
    assert_eq!(left.len(), files.len() - 1);
    let broker = LocalBroker::on(disk_of(&left), SETTINGS).unwrap();
    let mut client = broker.connect();
    client.send_fetch(0, Duration::ZERO).unwrap();
    let before = values(&client.receive_records().unwrap().records);
    assert_eq!(before, (0..).zip(0..40).collect::<Vec<_>>());
    client.send_fetch(40, Duration::ZERO).unwrap();
    let missing = client.receive_records().unwrap();
    assert_ne!(missing.error_code, ErrorCode::None, "{:?}", values(&missing.records));
    client.send_fetch(80, Duration::ZERO).unwrap();
    assert_eq!(values(&client.receive_records().unwrap().records)[0], (80, 80));
    broker.stop().unwrap();
}
