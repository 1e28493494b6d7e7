//! Unpacks any bytes by any codec.

use streamlog::record::{Compression, Decompressor, Limits};

/// Panics when a promise is broken.
pub(crate) fn run(bytes: &[u8]) {
    let Some((id, stream)) = bytes.split_first() else { return };
    let Some(compression) = Compression::from_id(id % 5) else { return };
    let limits = Limits { decompressed_bytes_max: 1 << 20, ..Limits::default() };
    if let Ok(output) = Decompressor::new(limits).decompress(compression, stream) {
        assert!(output.len() <= stream.len().max(1 << 20));
    }
}
