//! `streamlog log`: looks at the files of logs from outside, with or without a broker at work, and
//! makes the metadata journal of a stopped one anew.
//!
//! `dump` and `verify` write, lock and repair nothing. Damage is listed with its file and position,
//! and the command then ends with exit code 1, as it does when a file cannot be read at all.

mod dump;
mod options;
mod rebuild_metadata;
mod verify;

pub(crate) use options::Options;
