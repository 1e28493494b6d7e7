//! One framed connection: bytes in as whole frames, answers out as buffers and file ranges.
//!
//! A frame is `length i32 (big-endian, excludes itself)` and that many bytes. This layer knows no
//! API: it neither reads nor makes the contents of a frame. Memory follows the bytes that arrived,
//! never the length a stranger claimed.

mod budget;
mod frame;
mod outgoing;

pub use budget::{Budget, Reserved};
pub use frame::{FrameBuffer, FrameError};
pub use outgoing::{Outgoing, Piece, Written};
