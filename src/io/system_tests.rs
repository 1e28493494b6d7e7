//! The kernel's file system, in a temporary directory.

use std::io::{ErrorKind, IoSlice, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::stat::Mode;
use tempfile::TempDir;

use super::{
    DirectBuffers, Disk, Entry, File, OpenMode, SystemDisk, boot_id, ignore_file_size_signal,
    open_file_limit, raise_open_file_limit, read_exact_at, write_all_at,
};

fn create(directory: &TempDir, name: &str) -> Arc<dyn File> {
    SystemDisk::default().open(&directory.path().join(name), OpenMode::CreateNew).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn mounts_are_found_at_a_path_and_below_it() {
    let disk = SystemDisk::default();
    for path in ["/proc", "/proc/", "/"] {
        assert!(disk.has_mounts(Path::new(path)).unwrap(), "{path}");
    }
    let directory = TempDir::new().unwrap();
    let link = directory.path().join("link to proc");
    std::os::unix::fs::symlink("/proc", &link).unwrap();
    for path in [directory.path(), &link, Path::new("/pro")] {
        assert!(!disk.has_mounts(path).unwrap(), "{}", path.display());
    }
}

/// Bytes in which every position differs from its neighbours and pages differ from each other.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index + index / 4096) % 251).to_le_bytes()[0]).collect()
}

/// Evicts the pages of the file `a.log`, all of which are on disk.
fn evict(directory: &TempDir, file: &dyn File) {
    let path = directory.path().join("a.log");
    let other = nix::fcntl::open(&path, OFlag::O_RDONLY, Mode::empty()).unwrap();
    let pages = file.len().unwrap().div_ceil(4096);
    // A page that the kernel is still using is kept for now.
    let leaves = |_| {
        posix_fadvise(&other, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).unwrap();
        std::thread::yield_now();
        (0..pages).all(|page| !file.is_cached(page * 4096, 1))
    };
    assert!((0..100_000).any(leaves), "its pages stay in memory");
}

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn several_buffers_are_written_one_after_another() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    let buffers = [IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"two")];
    assert_eq!(file.write_at(&buffers, 5).unwrap(), 6);

    let mut bytes = [1; 11];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"\0\0\0\0\0onetwo");
    assert_eq!(file.len().unwrap(), 11);
}

#[test]
fn more_buffers_than_the_kernel_takes_are_a_short_write() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    let mut buffers = vec![IoSlice::new(b"ab"); 1500];
    assert_eq!(file.write_at(&buffers, 0).unwrap(), 2048);

    write_all_at(&*file, &mut buffers, 0).unwrap();
    assert_eq!(file.len().unwrap(), 3000);
}

#[test]
fn the_medium_holds_what_was_synced_at_any_position_and_length() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    let bytes = pattern(3_000_001);
    write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0).unwrap();
    file.sync_data().unwrap();

    for (position, length) in [(0, 1), (0, 4096), (1, 4096), (4095, 2), (2_999_999, 100), (7, 9999)]
    {
        let mut read = vec![0; length];
        let count = file.read_medium_at(&mut read, position as u64).unwrap();
        assert_eq!(count, length.min(bytes.len() - position), "at {position}");
        assert_eq!(read[..count], bytes[position..position + count], "at {position}");
    }

    let mut whole = vec![0; bytes.len() + 1];
    let mut done = 0;
    loop {
        let count = file.read_medium_at(&mut whole[done..], done as u64).unwrap();
        done += count;
        if count == 0 {
            break;
        }
    }
    assert_eq!(done, bytes.len());
    assert_eq!(whole[..done], bytes[..]);
}

#[test]
fn the_medium_past_the_end_has_nothing() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    file.write_at(&[IoSlice::new(b"abc")], 0).unwrap();
    for position in [3, 4, 4095, 4096, 10_000] {
        assert_eq!(file.read_medium_at(&mut [0; 16], position).unwrap(), 0, "at {position}");
    }
}

#[test]
fn the_medium_is_read_without_direct_reads_too() {
    let directory = TempDir::new_in("/dev/shm").unwrap();
    let file = create(&directory, "a.log");
    let bytes = pattern(10_000);
    write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0).unwrap();
    let mut read = vec![0; 5000];
    assert_eq!(file.read_medium_at(&mut read, 4999).unwrap(), 5000);
    assert_eq!(read, bytes[4999..9999]);
}

#[test]
fn a_direct_read_gives_the_blocks_of_a_range_up_to_the_end_of_the_file() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    let bytes = pattern(30_001);
    write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0).unwrap();
    let buffers = DirectBuffers::new(1, 16_384);
    let mut buffer = buffers.take().unwrap();
    // Bytes that were not synced are read too.
    for (position, length, read) in [
        (0, 1, 0..4096),
        (0, 4096, 0..4096),
        (4096, 4097, 4096..12_288),
        (8192, 60_000, 8192..24_576),
        (24_576, 5425, 24_576..30_001),
        (28_672, 16_384, 28_672..30_001),
        (32_768, 4096, 30_001..30_001),
    ] {
        file.read_direct(&mut buffer, position, length).unwrap();
        assert_eq!(buffer.as_ref(), &bytes[read], "{length} bytes at {position}");
    }
    let refused = file.read_direct(&mut buffer, 512, 4096).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_direct_read_brings_nothing_into_the_page_cache() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    write_all_at(&*file, &mut [IoSlice::new(&pattern(1 << 20))], 0).unwrap();
    file.sync_data().unwrap();
    evict(&directory, &*file);
    let mut buffer = DirectBuffers::new(1, 1 << 20).take().unwrap();
    file.read_direct(&mut buffer, 0, 1 << 20).unwrap();
    assert_eq!(buffer.as_ref(), pattern(1 << 20));
    assert!((0..256).all(|page| !file.is_cached(page * 4096, 1)));
}

#[test]
fn a_file_without_direct_reads_says_so() {
    // The kernel makes these files as they are read.
    let path = Path::new("/proc/self/limits");
    let file = SystemDisk::default().open(path, OpenMode::Read).unwrap();
    let mut buffer = DirectBuffers::new(1, 4096).take().unwrap();
    let refused = file.read_direct(&mut buffer, 0, 4096).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_file_opened_for_reading_refuses_a_write() {
    let directory = TempDir::new().unwrap();
    create(&directory, "a.log");
    let file = SystemDisk::default().open(&directory.path().join("a.log"), OpenMode::Read).unwrap();
    assert!(file.write_at(&[IoSlice::new(b"x")], 0).is_err());
    assert_eq!(file.len().unwrap(), 0);
}

#[test]
fn an_open_file_survives_its_name() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    file.write_at(&[IoSlice::new(b"abc")], 0).unwrap();
    SystemDisk::default().remove_file(&directory.path().join("a.log")).unwrap();

    let mut bytes = [0; 3];
    assert_eq!(file.read_medium_at(&mut bytes, 0).unwrap(), 3);
    assert_eq!(&bytes, b"abc");
}

#[test]
fn files_and_directories_are_accessible_to_their_owner_only() {
    let directory = TempDir::new().unwrap();
    let inner = directory.path().join("a/b");
    let disk = SystemDisk::default();
    disk.create_dir(&inner).unwrap();
    disk.create_dir(&inner).unwrap();
    disk.open(&inner.join("f"), OpenMode::Create).unwrap();

    assert_eq!(mode_of(&directory.path().join("a")), 0o700);
    assert_eq!(mode_of(&inner), 0o700);
    assert_eq!(mode_of(&inner.join("f")), 0o600);
}

#[test]
fn a_directory_lists_its_names_sorted() {
    let directory = TempDir::new().unwrap();
    let disk = SystemDisk::default();
    disk.open(&directory.path().join("b"), OpenMode::Create).unwrap();
    disk.create_dir(&directory.path().join("c")).unwrap();
    disk.create_dir(&directory.path().join("a")).unwrap();
    std::os::unix::fs::symlink("c", directory.path().join("d")).unwrap();

    let entry = |name: &str, is_dir| Entry { name: name.to_owned(), is_dir };
    let expected = [entry("a", true), entry("b", false), entry("c", true), entry("d", true)];
    assert_eq!(disk.list(directory.path()).unwrap(), expected);
    disk.remove_dir(&directory.path().join("c")).unwrap();
    assert!(!disk.exists(&directory.path().join("c")).unwrap());
    disk.sync_dir(directory.path()).unwrap();
}

#[test]
fn the_parent_of_a_relative_name_is_the_working_directory() {
    let parent = Path::new("name").parent().unwrap();
    SystemDisk::default().sync_dir(parent).unwrap();
}

#[test]
fn the_file_system_can_be_synced_whole() {
    let directory = TempDir::new().unwrap();
    let disk = SystemDisk::default();
    create(&directory, "a").write_at(&[IoSlice::new(b"abc")], 0).unwrap();
    disk.sync_filesystem(directory.path()).unwrap();
    disk.sync_filesystem(directory.path()).unwrap();
    assert!(disk.free_bytes(directory.path()).unwrap() > 0);
}

#[test]
fn a_lock_refuses_a_second_holder_and_names_the_first() {
    let directory = TempDir::new().unwrap();
    let disk = SystemDisk::default();
    let lock = |owner: &str| disk.lock(directory.path(), &directory.path().join(".lock"), owner);
    let held = lock("broker 1, process 4711").unwrap();

    let refused = lock("broker 2").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    assert_eq!(refused.to_string(), "broker 1, process 4711");

    drop(held);
    let _taken = lock("broker 2").unwrap();
    assert_eq!(lock("broker 3").unwrap_err().to_string(), "broker 2");
}

#[test]
fn a_lock_is_on_the_directory_and_not_on_its_note() {
    let outside = TempDir::new().unwrap();
    let (dir, link) = (outside.path().join("data"), outside.path().join("link"));
    let disk = SystemDisk::default();
    disk.create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let held = disk.lock(&dir, &dir.join(".lock"), "broker 1").unwrap();
    assert_eq!(disk.inode(&link).unwrap(), held.inode());

    disk.remove_file(&dir.join(".lock")).unwrap();
    for path in [&dir, &link] {
        let refused = disk.lock(path, &path.join(".lock"), "broker 2").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        assert_eq!(refused.to_string(), "another process");
    }
    // An earlier release locks only the note.
    drop(held);
    #[expect(clippy::disallowed_methods, reason = "an earlier release is another program")]
    let earlier = std::fs::File::create(dir.join(".lock")).unwrap();
    earlier.lock().unwrap();
    let refused = disk.lock(&dir, &dir.join(".lock"), "broker 2").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    drop(earlier);
    disk.lock(&dir, &dir.join(".lock"), "broker 2").unwrap();
}

#[test]
fn a_range_of_a_file_goes_to_a_socket() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    let bytes = pattern(20_000);
    write_all_at(&*file, &mut [IoSlice::new(&bytes)], 0).unwrap();
    let (near, mut far) = UnixStream::pair().unwrap();

    assert_eq!(file.send_to(near.as_fd(), 5000, 3000).unwrap(), 3000);
    assert_eq!(file.send_to(near.as_fd(), 19_990, 3000).unwrap(), 10);
    assert_eq!(file.send_to(near.as_fd(), 20_000, 3000).unwrap(), 0);
    drop(near);

    let mut received = Vec::new();
    far.read_to_end(&mut received).unwrap();
    assert_eq!(received[..3000], bytes[5000..8000]);
    assert_eq!(received[3000..], bytes[19_990..]);
}

#[test]
fn sending_to_a_closed_or_full_socket_is_an_error() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    file.set_len(8 << 20).unwrap();

    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let full = (0..100).find_map(|_| file.send_to(near.as_fd(), 0, 1 << 20).err());
    assert_eq!(full.unwrap().kind(), ErrorKind::WouldBlock);

    drop(far);
    let broken = file.send_to(near.as_fd(), 0, 100).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn what_was_just_read_is_cached() {
    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    write_all_at(&*file, &mut [IoSlice::new(&pattern(100_000))], 0).unwrap();
    file.sync_data().unwrap();
    read_exact_at(&*file, &mut vec![0; 100_000], 0).unwrap();
    assert!(file.is_cached(0, 100_000));
    assert!(file.is_cached(50_000, 1));
    assert!(file.is_cached(100_000, 0), "an empty range needs no read");
    assert!(!file.is_cached(u64::MAX, 1), "the read of an impossible range reports the error");
}

#[test]
fn a_look_into_the_page_cache_brings_nothing_there() {
    // Do not use the directory for temporary files: it may be a tmpfs, whose pages never leave
    // memory.
    let program = std::env::current_exe().unwrap();
    let directory = TempDir::new_in(program.parent().unwrap()).unwrap();
    let file = create(&directory, "a.log");
    write_all_at(&*file, &mut [IoSlice::new(&pattern(5_000))], 0).unwrap();
    file.sync_data().unwrap();
    evict(&directory, &*file);
    let looks = (0..20_000).filter(|_| file.is_cached(0, 1) || file.is_cached(4_500, 1));
    assert_eq!(looks.count(), 0);
    read_exact_at(&*file, &mut [0; 5_000], 0).unwrap();
    assert!(file.is_cached(0, 5_000));
}

#[test]
fn the_boot_has_one_identity() {
    let id = boot_id().unwrap();
    assert_eq!(id.len(), 36, "a UUID: {id}");
    assert_eq!(boot_id().unwrap(), id);
}

#[test]
fn the_limit_of_open_files_only_rises() {
    let before = open_file_limit().unwrap();
    let raised = raise_open_file_limit().unwrap();
    assert!(raised >= before, "{raised} below {before}");
    assert_eq!(open_file_limit().unwrap(), raised);
}

#[test]
fn a_write_past_the_file_size_limit_is_an_error() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    // The limit applies to the whole process, so choose one beyond the writes of other tests.
    const LIMIT: u64 = 1 << 40;
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    ignore_file_size_signal().unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, LIMIT, hard).unwrap();

    let directory = TempDir::new().unwrap();
    let file = create(&directory, "a.log");
    assert_eq!(file.write_at(&[IoSlice::new(b"abcdef")], LIMIT - 4).unwrap(), 4, "short");
    let refused = file.write_at(&[IoSlice::new(b"ef")], LIMIT).unwrap_err();
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
    assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
    assert!(super::is_out_of_space(&refused));
}
