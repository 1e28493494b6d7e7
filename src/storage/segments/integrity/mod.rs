//! The integrity of a segment's bytes: checks, and the damage they find.

mod batch_check;
mod chain;
mod check;
mod damage;
mod damages;
mod digest;
mod header_check;
mod sealed_digests;
mod sent_file;
mod tracked_file;
mod verified_ranges;

pub(crate) use batch_check::{BatchCheck, CheckProgress, Checked};
pub(crate) use chain::Chain;
pub(in crate::storage) use check::SegmentCheck;
pub use damage::Damage;
pub(crate) use damages::Damages;
pub(crate) use digest::{HeaderDigest, HeaderDigests};
pub(crate) use sealed_digests::Digests;
pub(crate) use sent_file::SentFile;
pub(crate) use tracked_file::TrackedFile;
pub(crate) use verified_ranges::VerifiedRanges;
