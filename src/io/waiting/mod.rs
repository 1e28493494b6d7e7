//! Waits of threads for changes that other threads bring about.

mod gate;
mod pipe;
mod wake_fd;

pub use gate::{Gate, Waited};
pub use pipe::nonblocking_pipe;
pub use wake_fd::WakeFd;
