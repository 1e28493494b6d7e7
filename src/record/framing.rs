//! The framings of compressed streams: the forms that a codec's format allows for the same records.

/// The framings that a decompressor accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framings {
    /// All that can be read here: other brokers and earlier releases may have stored them.
    Any,
    /// Those that all clients read, as `tests/interop/test_framings.py` shows.
    Portable,
}

/// The reason why some clients cannot read a stream, although it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingFault {
    /// A gzip stream does not end with its first member.
    #[error("does not end with its first member, the only one that some clients read: send one")]
    Members,
    /// The blocks of an LZ4 frame refer to the blocks before them.
    #[error("has linked blocks, which Java clients cannot read: send independent blocks")]
    LinkedBlocks,
    /// A Zstandard stream does not consist of one frame with data.
    #[error("is not a single frame, the only form that all clients read: send one frame")]
    Frames,
    /// A Zstandard frame needs more memory than readers provide.
    #[error("has a window of {window} bytes, and clients read at most {max}: use a smaller window")]
    Window {
        /// The size of the window in bytes.
        window: u64,
        /// The size up to which clients read it.
        max: u64,
    },
}
