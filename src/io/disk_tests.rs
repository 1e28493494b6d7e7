//! Tests of `create_dir_durably` on a disk that loses everything not synced.

use std::path::Path;
use std::sync::Arc;

use super::faulty::{Failure, Fault, FaultyDisk, Operation};
use super::{Disk, MemoryDisk, create_dir_durably};

const SEEDS: u64 = 500;

fn fresh() -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), 1)
}

#[test]
fn a_directory_made_durably_survives_a_crash_with_the_parents_made_for_it() {
    let path = Path::new("/there/a/b/c");
    let mut is_lost_otherwise = false;
    for seed in 0..SEEDS {
        let disk = fresh();
        disk.create_dir(Path::new("/there")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        create_dir_durably(&disk, path).unwrap();
        assert!(disk.crash(seed).unwrap().exists(path).unwrap(), "seed {seed}");
        let careless = fresh();
        careless.create_dir(path).unwrap();
        careless.sync_dir(path.parent().unwrap()).unwrap();
        is_lost_otherwise |= !careless.crash(seed).unwrap().exists(path).unwrap();
    }
    assert!(is_lost_otherwise);
}

#[test]
fn a_directory_whose_name_cannot_be_made_durable_is_not_made_durably() {
    for call in 1..=4 {
        let disk = fresh();
        disk.inject(Fault::new(Operation::SyncDir, Failure::InputOutput).at_call(call));
        let made = create_dir_durably(&disk, Path::new("/a/b/c"));
        assert_eq!(made.is_err(), call <= 3, "{call}");
    }
}
