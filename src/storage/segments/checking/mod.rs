//! Checks of a whole segment, of the bytes that are sent, and of the digests in its seal.

mod header_check;
mod sealed_digests;
mod segment_check;
mod sent_file;

pub(in crate::storage) use segment_check::SegmentCheck;
