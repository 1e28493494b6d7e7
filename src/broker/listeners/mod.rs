//! The addresses that a broker listens on and those that it advertises to clients.
//!
//! A broker may have several named listeners, such as one for its own network and one for the
//! outside. A client is told the addresses that all brokers have for the listener that it connected
//! to.

mod bind;
mod bound;
mod listener;

pub(crate) use bind::bind;
pub(crate) use bound::{BoundListener, Listeners};
pub use listener::Listener;
pub(crate) use listener::check_listeners;
