//! `streamlog group`: consumer groups, their lag, and resetting their offsets.

mod describe;
mod lag;
mod options;
mod reset;

pub(crate) use options::Options;
