//! The environment of an engine, which tests replace.

use std::sync::Arc;

use crate::io::{Clock, Disk};

/// A disk and a source of time.
#[derive(Clone, Debug)]
pub struct World {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}
