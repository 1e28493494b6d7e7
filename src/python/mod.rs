//! The native module of the Python package, `streamlog._core`.
//!
//! Every blocking call releases the interpreter and sleeps on the calling thread, where signals
//! reach it; the calls of `aio` return futures instead. The stubs of `_core` hold the docstrings; a
//! test verifies that stubs and module agree.

#![expect(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "docstrings are those of the stubs, in Python's form"
)]

mod administration;
mod aio;
mod arguments;
#[cfg(feature = "cli")]
mod brokers;
mod client;
#[cfg(not(feature = "cli"))]
mod client_alone;
mod connection;
mod docstrings;
mod dropping;
mod errors;
mod futures;
mod logging;
mod module;
mod owned;
mod producing;
mod reading;
mod republishing;
mod signals;
mod texts;
mod watching;
