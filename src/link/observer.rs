//! The receiver of what happens on connections, for metrics and events.

use std::fmt::Debug;

use super::fault::LinkError;
use crate::config::HostPort;

/// An observer of connections. Its methods must not block: they run on the connections' runtime.
pub trait Observer: Debug + Send + Sync {
    /// A connection was opened.
    fn opened(&self, address: &HostPort);

    /// An attempt to connect failed.
    fn refused(&self, error: &LinkError);

    /// An open connection ended.
    fn ended(&self, reason: &LinkError);

    /// A request of this many bytes was submitted.
    fn sent(&self, bytes: usize);

    /// This many bytes of responses arrived.
    fn received(&self, bytes: usize);
}
