//! A disk whose errors are logged.
//!
//! The caller of a failed operation gets its error and decides how to proceed. In addition, the
//! operator must learn which file failed, so each error passes the [`ErrorLog`]. It writes at most
//! one line a minute for each file, with the operation, the file, the error and a remedy.

mod disk;
mod error_log;
mod file;
#[cfg(test)]
mod reporting_tests;

pub(crate) use disk::ReportingDisk;
pub(crate) use error_log::is_reported;
