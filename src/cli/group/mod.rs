//! `streamlog group`: groups of consumers, how far they are, setting them elsewhere.

mod describe;
mod lag;
mod options;
mod reset;

pub(crate) use options::Options;
