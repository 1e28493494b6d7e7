//! One framed connection: complete frames in, responses out as buffers and file ranges.
//!
//! A frame is `length i32 (big-endian, excludes itself)` followed by that many bytes. This layer
//! knows no API: it neither parses nor builds the contents of a frame. Memory follows the bytes
//! that arrived: for the announced rest of a frame it takes at most as much again, or 2 MiB.

mod budget;
mod conditions;
#[cfg(test)]
mod conditions_tests;
mod frame;
mod outgoing;
mod transport;
#[cfg(test)]
mod transport_tests;

pub use budget::{Budget, Reserved};
pub use conditions::{Carrier, Conditions, Exchange, Flow, Network};
pub use frame::{FRAME_PREFIX, FrameBuffer, FrameError, Frames, frame_size};
pub use outgoing::{Outgoing, Piece, Written};
pub use transport::Transport;
