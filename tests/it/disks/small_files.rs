//! Every small file of a data directory is changed, bit by bit: the broker serves the written
//! records or refuses to start and names the file, and `log verify` finds it.

use std::path::Path;
use std::sync::Arc;

use streamlog::broker::verify_directory_on;
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, MemoryDisk};
use streamlog::storage::verify;

use crate::support::{Files, LocalBroker, disk_of, files_in, sequenced};

pub(super) const DATA: &str = "/data";
const RECORDS: u64 = 160;

/// The files of a broker that was shut down cleanly, with records in several segments.
pub(super) fn stopped_files(records_per_batch: u64, settings: &[(&str, &str)]) -> Files {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let broker = LocalBroker::with_topic(disk, settings);
    let mut client = broker.connect();
    let mut next = 0;
    while next < RECORDS {
        let sequence = i32::try_from(next).unwrap();
        let batch = sequenced(next..next + records_per_batch, (4711, 0), sequence);
        client.produce(batch, -1).unwrap().unwrap();
        next += records_per_batch;
    }
    let disk = broker.stop().unwrap();
    let mut files = files_in(&disk, Path::new(DATA));
    files.retain(|(path, _)| !path.ends_with(".lock") && !path.starts_with("/data/reserve"));
    files
}

pub(super) const SETTINGS: &[(&str, &str)] =
    &[("log.segment.bytes", "1024"), ("log.roll.ms", "600000")];

/// Returns true if `log verify` finds something.
pub(super) fn is_found(disk: &FaultyDisk) -> bool {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let logs = verify(&shared, Path::new(DATA));
    let files = verify_directory_on(&*shared, Path::new(DATA));
    let in_logs = logs.map_or(true, |logs| logs.iter().any(|log| !log.is_sound()));
    in_logs || files.map_or(true, |files| files.iter().any(|file| file.is_damage))
}

/// Checks that the broker starts and has the records, or refuses to start and names the file.
fn serves_or_names(disk: FaultyDisk, path: &Path, what: &str) {
    match LocalBroker::on(disk, SETTINGS) {
        Ok(broker) => {
            let records = broker.connect().read_from(0);
            let records = records.unwrap_or_else(|error| panic!("{what}: {error}"));
            let written: Vec<_> = (0..).zip(0..RECORDS).collect();
            assert_eq!(records, written, "{what}");
            broker.stop().unwrap();
        }
        Err(error) => {
            let name = path.to_string_lossy();
            let error = streamlog::types::WithCauses(&error).to_string();
            assert!(error.contains(&*name), "{what}: {error}");
        }
    }
}

/// One bit of each byte; with `STREAMLOG_EVERY_BIT` all of them.
#[test]
fn a_changed_bit_of_a_small_file_is_survived_or_named_and_found() {
    let files = stopped_files(40, SETTINGS);
    assert!(!is_found(&disk_of(&files)), "a sound directory");
    let every_bit = std::env::var_os("STREAMLOG_EVERY_BIT").is_some();
    for (index, (path, sound)) in files.iter().enumerate() {
        let is_batches = path.extension().is_some_and(|extension| extension == "log");
        // Every bit of the journal is changed in its own tests.
        if is_batches || path.starts_with("/data/metadata") {
            continue;
        }
        for bit in 0..sound.len() * 8 {
            if !every_bit && bit % 8 != bit / 8 % 7 {
                continue;
            }
            let what = format!("bit {bit} of {}", path.display());
            let mut changed = files.clone();
            changed[index].1[bit / 8] ^= 1 << (bit % 8);
            let disk = disk_of(&changed);
            // The flip may turn the checksum's line into a comment.
            let is_harmless = path.ends_with("meta.properties");
            assert!(is_found(&disk) || is_harmless, "{what} is not found");
            serves_or_names(disk, path, &what);
        }
    }
}
