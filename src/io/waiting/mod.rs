//! Waits of threads for changes that other threads bring about.

mod gate;
mod wake_fd;

pub use gate::{Gate, Waited};
pub use wake_fd::{WakeFd, nonblocking_pipe};
