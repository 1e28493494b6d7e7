//! One framed connection: complete frames in, responses out as buffers and file ranges.
//!
//! A frame is `length i32 (big-endian, excludes itself)` followed by that many bytes. This layer
//! knows no API: it neither parses nor builds the contents of a frame. Memory follows the bytes
//! that arrived, never the length that a peer announced.

mod budget;
mod frame;
mod outgoing;
mod transport;
#[cfg(test)]
mod transport_tests;

pub use budget::{Budget, Reserved};
pub use frame::{FrameBuffer, FrameError, Frames};
pub use outgoing::{Outgoing, Piece, Written};
pub use transport::Transport;
