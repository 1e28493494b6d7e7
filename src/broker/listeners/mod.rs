//! Where a broker listens, and what it tells clients to connect to.
//!
//! A broker may have several listeners, told apart by name: one for its own network, one for the
//! world outside. Who came by one of them is told the addresses of that one, of every broker.

mod bind;
mod bound;
mod listener;

pub(crate) use bind::bind;
pub(crate) use bound::Listeners;
pub use listener::Listener;
pub(crate) use listener::{
    check_listeners, parse_listeners, parse_protocols, show_listeners, show_protocols,
};
