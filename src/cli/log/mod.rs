//! `streamlog log`: inspects log files offline or beside a running broker, and rebuilds the
//! metadata journal of a stopped broker.
//!
//! `dump` and `verify` never write, lock or repair anything. Damage is listed with its position,
//! by `verify` also with its file, and gives exit code 1, as does an unreadable file.

mod dump;
mod options;
mod rebuild_metadata;
mod verify;

pub(crate) use options::Options;
