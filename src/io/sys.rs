//! System calls without a safe interface: signals, limits, the boot identifier, other processes,
//! and the state of the page cache.
//!
//! The only file of the crate with `unsafe`. A function that changes a signal or a limit affects
//! the whole process, so only programs call it, at their start. An embedded broker never calls it,
//! because it would change its host process.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
#[cfg(feature = "cli")]
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};

#[cfg(not(target_os = "linux"))]
compile_error!(
    "streamlog's engine needs Linux: on this system use `default-features = false` with the \
     feature `client`"
);

/// Makes a write past the process's file-size limit an error (EFBIG); by default SIGXFSZ would kill
/// the process in mid-batch. A handler installed by the process is kept.
pub fn ignore_file_size_signal() -> io::Result<()> {
    // SAFETY: to ignore a signal installs no handler, so no code runs at an unsafe moment.
    #[expect(unsafe_code, reason = "a signal's disposition has no safe interface")]
    let before = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
    if !matches!(before, SigHandler::SigDfl | SigHandler::SigIgn) {
        // SAFETY: `before` was this signal's handler until the call above, so it is a valid
        // handler.
        #[expect(unsafe_code, reason = "a signal's disposition has no safe interface")]
        unsafe { signal(Signal::SIGXFSZ, before) }?;
    }
    Ok(())
}

/// The number of pages of a range that are in the page cache. `cachestat` does not read the others.
///
/// # Errors
/// The system's: `cachestat` needs Linux 6.5 and a file system that supports it.
pub(super) fn cached_pages(file: BorrowedFd<'_>, position: u64, length: u64) -> io::Result<u64> {
    /// The same number on every architecture.
    const CACHESTAT: libc::c_long = 451;
    // A length of 0 would mean up to the end.
    let range = [position, length.max(1)];
    let mut counts = [0_u64; 5];
    // SAFETY: `range` and `counts` have the layout of the call's two structures, which hold two and
    // five 64-bit numbers, and live until it returns. The descriptor is open while it is borrowed.
    #[expect(unsafe_code, reason = "the call has no wrapper")]
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0)
    };
    if result == 0 { Ok(counts[0]) } else { Err(Errno::last().into()) }
}

/// Returns true if all bytes of a range are in the page cache, as `mincore` reports for a mapping.
/// This also works on kernels without `cachestat`, and on stacked file systems, where the pages
/// belong to the file system below. A non-blocking read would be simpler, but it makes the kernel
/// begin to read the missing pages.
pub(super) fn is_resident(file: BorrowedFd<'_>, position: u64, length: u64) -> io::Result<bool> {
    // SAFETY: it reads a constant of the system.
    #[expect(unsafe_code, reason = "the size of a page has no safe interface here")]
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = u64::try_from(page).map_err(io::Error::other)?.max(1);
    let start = position - position % page;
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let size = usize::try_from(position - start + length).map_err(invalid)?;
    let offset = libc::off_t::try_from(start).map_err(invalid)?;
    let mut pages = vec![0_u8; size.div_ceil(usize::try_from(page).map_err(invalid)?)];
    let (shared, read) = (libc::MAP_SHARED, libc::PROT_READ);
    // SAFETY: the kernel chooses the address, so the mapping replaces no other. Nothing reads
    // through it, so no access can fail if the file becomes shorter meanwhile. `pages` has a byte
    // for each page of the mapping. The mapping is removed before this returns.
    #[expect(unsafe_code, reason = "a look at a mapping has no safe interface")]
    let looked = unsafe {
        let mapping = libc::mmap(ptr::null_mut(), size, read, shared, file.as_raw_fd(), offset);
        if mapping == libc::MAP_FAILED {
            return Err(Errno::last().into());
        }
        let looked = Errno::result(libc::mincore(mapping, size, pages.as_mut_ptr()));
        Errno::result(libc::munmap(mapping, size))?;
        looked
    };
    looked?;
    Ok(pages.iter().all(|page| page & 1 == 1))
}

/// A descriptor that stands for the process with this id, and becomes readable once it has ended.
///
/// # Errors
/// The system's: `pidfd_open` needs Linux 5.3.
#[cfg(feature = "cli")]
pub(super) fn open_process(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers and returns another.
    #[expect(unsafe_code, reason = "the call has no wrapper")]
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
    let descriptor = i32::try_from(Errno::result(descriptor)?).map_err(io::Error::other)?;
    // SAFETY: the call has just returned this descriptor, so it has no other owner.
    #[expect(unsafe_code, reason = "the call has no wrapper")]
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The number of files and sockets that this process may have open at once.
pub fn open_file_limit() -> io::Result<u64> {
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?.0)
}

/// Raises the limit of open files as far as the process may, and returns it.
pub fn raise_open_file_limit() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}

/// The identifier of the system's current boot: another value after a restart or a power failure
/// means that the page cache began empty.
pub fn boot_id() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}
