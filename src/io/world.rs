//! The world in which an engine runs.

use std::sync::Arc;

use crate::io::{Clock, Disk};

/// A disk and the clocks beside it.
#[derive(Clone, Debug)]
pub struct World {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}
