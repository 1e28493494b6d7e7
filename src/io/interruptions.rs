//! Repetition of system calls that return EINTR.

use std::io::{self, ErrorKind};

/// The maximum number of attempts at a call. Without a bound, a file system that interrupts every
/// call would block its thread, and all threads that wait for it, for ever.
const ATTEMPTS_MAX: u32 = 100;

/// Repeats a system call while it is interrupted.
///
/// # Errors
/// Those of the call; `Interrupted` after a hundred attempts.
pub(in crate::io) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempts = 1;
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted && attempts < ATTEMPTS_MAX => {
                attempts += 1;
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_is_repeated_a_bounded_number_of_times() {
        let mut calls = 0;
        let twice = uninterrupted(|| {
            calls += 1;
            if calls < 3 { Err(ErrorKind::Interrupted.into()) } else { Ok(calls) }
        });
        assert_eq!(twice.unwrap(), 3);

        let mut calls = 0;
        let never: io::Result<()> = uninterrupted(|| {
            calls += 1;
            Err(ErrorKind::Interrupted.into())
        });
        assert_eq!(never.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(calls, ATTEMPTS_MAX);
    }

    #[test]
    fn another_error_is_returned_at_once() {
        let mut calls = 0;
        let failed: io::Result<()> = uninterrupted(|| {
            calls += 1;
            Err(ErrorKind::PermissionDenied.into())
        });
        assert_eq!((failed.unwrap_err().kind(), calls), (ErrorKind::PermissionDenied, 1));
    }
}
