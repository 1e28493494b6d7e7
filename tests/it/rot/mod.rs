//! Bit flips on the medium: every reader finds them, and none returns wrong records.

mod readers;

use std::io::IoSlice;
use std::path::Path;

use streamlog::io::{Disk, OpenMode, read_exact_at, write_all_at};

/// The bytes of a file.
fn bytes_of(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

/// Flips a bit of a file; a second call restores it.
fn flip(disk: &dyn Disk, path: &Path, bit: usize) {
    let file = disk.open(path, OpenMode::Write).unwrap();
    let position = u64::try_from(bit / 8).unwrap();
    let mut byte = [0];
    read_exact_at(&*file, &mut byte, position).unwrap();
    byte[0] ^= 1 << (bit % 8);
    write_all_at(&*file, &mut [IoSlice::new(&byte)], position).unwrap();
}
