//! The addresses that a broker listens on and those that it advertises to clients.
//!
//! A broker may have several named listeners, such as one for its own network and one for the
//! outside. For each broker, a client is told the address of the listener that has the same name as
//! the one it connected to; if the broker has none of that name, of its first.

mod bind;
mod bound;
mod listener;

pub(crate) use bind::bind;
pub(crate) use bound::{BoundListener, Listeners};
pub use listener::Listener;
pub(crate) use listener::{check_inter_broker, check_listeners};
