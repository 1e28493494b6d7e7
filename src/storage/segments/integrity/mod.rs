//! The rules that decide whether the bytes of a segment are sound, and the record of damaged bytes.

mod batch_check;
mod chain;
mod damage;
mod damages;
mod digest;
mod held_digests;
mod tracked_file;
mod verified_ranges;

pub(crate) use batch_check::{BatchCheck, CheckProgress, Checked};
pub(crate) use chain::Chain;
pub use damage::Damage;
pub(crate) use damages::Damages;
pub(crate) use damages::LogEnd;
pub(crate) use digest::{HeaderDigest, HeaderDigests};
pub(in crate::storage::segments) use digest::{Proof, header_crc};
pub(crate) use held_digests::HeldDigests;
pub(crate) use tracked_file::TrackedFile;
pub(crate) use verified_ranges::VerifiedRanges;
