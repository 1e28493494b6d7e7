//! The classes of the system's errors that the engine treats in different ways.

use std::fmt;
use std::io::{Error, ErrorKind};

use nix::errno::Errno;

use crate::io::displacement::Displaced;

/// Returns true if a write failed because the disk, the quota or the file is full (ENOSPC, EDQUOT,
/// EFBIG). The caller truncates the bytes written so far, and may try again once space is free.
pub fn is_out_of_space(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

/// Returns true if an error of sending a file to a socket was caused by the file, not the socket.
/// The caller then reads and checks the bytes again before it sends them.
pub(crate) fn is_error_of_file(error: &Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EIO | Errno::EINTR | Errno::EBADMSG | Errno::ESTALE))
}

/// Returns true if a call failed because the process, or the system, has too many files open.
pub fn is_out_of_descriptors(error: &Error) -> bool {
    let code = error.raw_os_error();
    code == Some(Errno::EMFILE as i32) || code == Some(Errno::ENFILE as i32)
}

/// Marks the error of a sync that was tried and failed.
#[derive(Debug)]
struct FailedSync(Error);

impl fmt::Display for FailedSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FailedSync {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0)
    }
}

/// Marks an error as that of a sync that was tried and failed. The message stays the same.
pub(crate) fn failed_sync(error: Error) -> Error {
    if is_failed_sync(&error) { error } else { Error::new(error.kind(), FailedSync(error)) }
}

/// Returns true if a sync was tried and failed: the state of the medium is then unknown. After any
/// other error, including that of a sync that could not be tried, the call may be repeated.
pub fn is_failed_sync(error: &Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.downcast_ref::<FailedSync>().is_some())
}

/// Returns a copy of an error, which `io::Error` cannot clone.
pub(crate) fn same_error(error: &Error) -> Error {
    if let Some(displaced) = Displaced::of(error) {
        return displaced.into();
    }
    let again = match error.raw_os_error() {
        Some(code) => Error::from_raw_os_error(code),
        None => Error::new(error.kind(), error.to_string()),
    };
    if is_failed_sync(error) { failed_sync(again) } else { again }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_recognized_and_keeps_the_message_of_the_system() {
        let plain = || Error::from(Errno::ENOSPC);
        let failed = failed_sync(plain());
        assert!(is_failed_sync(&failed) && !is_failed_sync(&plain()));
        assert!(is_out_of_space(&failed));
        assert_eq!(failed.to_string(), plain().to_string());
        assert!(is_failed_sync(&same_error(&failed)) && !is_failed_sync(&same_error(&plain())));
        assert_eq!(same_error(&failed).to_string(), plain().to_string());
    }
}
