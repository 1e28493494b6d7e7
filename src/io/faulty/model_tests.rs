//! Random calls on a faulty disk, against a disk in memory and a history of every file.
//!
//! While the power is on, both disks must answer alike. After a power failure, every byte must have
//! a value that it had since the file's last sync, and every length must lie between the lengths
//! since then; a sync after a failed one does not count. Every directory must be in a state that it
//! had since its last sync.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, File, MemoryDisk, OpenMode, SeededRandom, read_exact_at};
use crate::types::seeds;

const DIRECTORIES: [&str; 2] = ["/data/a", "/data/b"];
const NAMES: [&str; 4] = ["0.log", "1.log", "x", "x.tmp"];

type Names = BTreeMap<String, usize>;

/// The contents of a file since it was last durable, the durable content first.
#[derive(Clone, Debug)]
struct History {
    versions: Vec<Vec<u8>>,
    /// True if a sync failed: no later sync proves anything.
    is_tainted: bool,
}

impl History {
    fn of(bytes: Vec<u8>) -> Self {
        Self { versions: vec![bytes], is_tainted: false }
    }

    fn admits(&self, bytes: &[u8]) -> bool {
        let lengths: BTreeSet<usize> = self.versions.iter().map(Vec::len).collect();
        let (shortest, longest) = (lengths.first().unwrap(), lengths.last().unwrap());
        let fits = |(at, byte): (usize, &u8)| {
            self.versions.iter().any(|version| match version.get(at) {
                Some(had) => had == byte,
                None => *byte == 0,
            })
        };
        (shortest..=longest).contains(&&bytes.len()) && bytes.iter().enumerate().all(fits)
    }
}

struct Model {
    disk: FaultyDisk,
    reference: MemoryDisk,
    random: SeededRandom,
    files: Vec<History>,
    directories: BTreeMap<&'static str, Vec<Names>>,
}

impl Model {
    fn new(seed: u64) -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
        let reference = MemoryDisk::default();
        for directory in DIRECTORIES {
            disk.create_dir(Path::new(directory)).unwrap();
            reference.create_dir(Path::new(directory)).unwrap();
        }
        disk.sync_filesystem(Path::new("/")).unwrap();
        disk.set_write_back(seed % 5);
        let directories = DIRECTORIES.map(|directory| (directory, vec![Names::new()])).into();
        Self { disk, reference, random: SeededRandom::new(seed), files: Vec::new(), directories }
    }

    fn any_place(&mut self) -> (&'static str, &'static str) {
        let directory = DIRECTORIES[self.random.index(DIRECTORIES.len())];
        (directory, NAMES[self.random.index(NAMES.len())])
    }

    fn names(&self, directory: &str) -> &Names {
        self.directories[directory].last().unwrap()
    }

    fn change_names(
        &mut self,
        directory: &'static str,
        change: impl FnOnce(&mut Names) -> Option<usize>,
    ) {
        let versions = self.directories.get_mut(directory).unwrap();
        let mut names = versions.last().unwrap().clone();
        change(&mut names);
        versions.push(names);
    }

    fn step(&mut self) {
        let place = self.any_place();
        match self.random.below(16) {
            0..=1 => self.create(place),
            2..=6 => self.write(place),
            7 => self.set_len(place),
            8..=9 => self.sync_data(place),
            10 => self.remove(place),
            11..=12 => self.rename(place),
            13..=14 => self.sync_dir(place.0),
            _ => self.sync_all(),
        }
    }

    fn create(&mut self, (directory, name): (&'static str, &'static str)) {
        let path = Path::new(directory).join(name);
        let made = same(
            self.disk.open(&path, OpenMode::CreateNew),
            self.reference.open(&path, OpenMode::CreateNew),
        );
        if made.is_some() {
            self.files.push(History::of(Vec::new()));
            let id = self.files.len() - 1;
            self.change_names(directory, |names| names.insert(name.to_owned(), id));
        }
    }

    /// Applies a change to a file on both disks and records its content.
    fn change(&mut self, place: (&str, &str), change: impl Fn(&dyn File) -> io::Result<()>) {
        let path = Path::new(place.0).join(place.1);
        let files = same(
            self.disk.open(&path, OpenMode::Write),
            self.reference.open(&path, OpenMode::Write),
        );
        if let Some((file, reference)) = files {
            change(&*file).unwrap();
            change(&*reference).unwrap();
            let id = self.names(place.0)[place.1];
            self.files[id].versions.push(contents(&self.reference, &path));
        }
    }

    fn write(&mut self, place: (&str, &str)) {
        let length = self.random.between(1, 9000);
        let position = self.random.below(20_000);
        let bytes: Vec<u8> = (0..length).map(|_| self.random.number().to_le_bytes()[0]).collect();
        self.change(place, |file| {
            let (first, second) = bytes.split_at(bytes.len() / 3);
            let written = file.write_at(&[IoSlice::new(first), IoSlice::new(second)], position)?;
            assert_eq!(written, bytes.len());
            Ok(())
        });
    }

    fn set_len(&mut self, place: (&str, &str)) {
        let length = self.random.below(30_000);
        self.change(place, |file| file.set_len(length));
    }

    fn sync_data(&mut self, place: (&str, &str)) {
        let path = Path::new(place.0).join(place.1);
        let Ok(file) = self.disk.open(&path, OpenMode::Write) else { return };
        let id = self.names(place.0)[place.1];
        if self.random.chance(5) {
            self.disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput));
            assert!(file.sync_data().is_err());
            self.files[id].is_tainted = true;
        } else {
            file.sync_data().unwrap();
            apply(&mut self.files[id]);
        }
    }

    fn remove(&mut self, (directory, name): (&'static str, &'static str)) {
        let path = Path::new(directory).join(name);
        let removed = same(self.disk.remove_file(&path), self.reference.remove_file(&path));
        if removed.is_some() {
            self.change_names(directory, |names| names.remove(name));
        }
    }

    fn rename(&mut self, from: (&'static str, &'static str)) {
        let to = self.any_place();
        let (old, new) = (Path::new(from.0).join(from.1), Path::new(to.0).join(to.1));
        let moved = same(self.disk.rename(&old, &new), self.reference.rename(&old, &new));
        if moved.is_some() && from != to {
            let id = self.names(from.0)[from.1];
            let put = |names: &mut Names| names.insert(to.1.to_owned(), id);
            if from.0 == to.0 {
                self.change_names(from.0, |names| {
                    names.remove(from.1);
                    put(names)
                });
            } else {
                self.change_names(from.0, |names| names.remove(from.1));
                self.change_names(to.0, put);
            }
        }
    }

    fn sync_dir(&mut self, directory: &'static str) {
        self.disk.sync_dir(Path::new(directory)).unwrap();
        let versions = self.directories.get_mut(directory).unwrap();
        versions.drain(..versions.len() - 1);
    }

    fn sync_all(&mut self) {
        self.disk.sync_filesystem(Path::new("/data")).unwrap();
        for directory in DIRECTORIES {
            self.sync_dir(directory);
        }
        self.files.iter_mut().for_each(apply);
    }

    fn check_alive(&self) {
        for directory in DIRECTORIES {
            let listed = self.disk.list(Path::new(directory)).unwrap();
            assert_eq!(listed, self.reference.list(Path::new(directory)).unwrap());
            for entry in listed {
                let path = Path::new(directory).join(entry.name);
                let (left, right) = (contents(&self.disk, &path), contents(&self.reference, &path));
                assert!(left == right, "{} differs", path.display());
            }
        }
    }

    fn crash(&mut self) {
        let seed = self.random.number();
        self.disk = self.disk.crash(seed).unwrap();
        self.reference = MemoryDisk::default();
        let before = std::mem::take(&mut self.files);
        for directory in DIRECTORIES {
            self.reference.create_dir(Path::new(directory)).unwrap();
            let mut left: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            for entry in self.disk.list(Path::new(directory)).unwrap() {
                let bytes = contents(&self.disk, &Path::new(directory).join(&entry.name));
                left.insert(entry.name, bytes);
            }
            let versions = &self.directories[directory];
            let admits = |names: &Names| {
                names.keys().eq(left.keys())
                    && names.values().zip(left.values()).all(|(id, had)| before[*id].admits(had))
            };
            let shown: Vec<&String> = left.keys().collect();
            assert!(versions.iter().any(admits), "{directory} has {shown:?} of {versions:?}");
            self.start_over(directory, left);
        }
    }

    /// Makes the content after a power failure the first, durable state.
    fn start_over(&mut self, directory: &'static str, left: BTreeMap<String, Vec<u8>>) {
        let mut names = Names::new();
        for (name, bytes) in left {
            let path: PathBuf = Path::new(directory).join(&name);
            let file = self.reference.open(&path, OpenMode::Create).unwrap();
            file.write_at(&[IoSlice::new(&bytes)], 0).unwrap();
            names.insert(name, self.files.len());
            self.files.push(History::of(bytes));
        }
        self.directories.insert(directory, vec![names]);
    }
}

/// Records a successful sync: only the current content counts, unless a sync failed before.
fn apply(history: &mut History) {
    if !history.is_tainted {
        history.versions.drain(..history.versions.len() - 1);
    }
}

/// Both values if both calls succeed; if they fail, the errors must be of the same kind.
fn same<T>(left: io::Result<T>, right: io::Result<T>) -> Option<(T, T)> {
    match (left, right) {
        (Ok(left), Ok(right)) => Some((left, right)),
        (Err(left), Err(right)) => {
            assert_eq!(left.kind(), right.kind());
            None
        }
        (left, right) => panic!("one fails: {:?} and {:?}", left.err(), right.err()),
    }
}

fn contents(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

#[test]
fn a_faulty_disk_works_normally_and_keeps_synced_data_through_a_power_failure() {
    for seed in seeds(1000) {
        let mut model = Model::new(seed);
        for _ in 0..3 {
            for _ in 0..model.random.between(1, 60) {
                model.step();
            }
            model.check_alive();
            model.crash();
            model.check_alive();
        }
    }
}
