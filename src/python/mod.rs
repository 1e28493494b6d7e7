//! The native module of the Python package, `streamlog._core`: one file per class, no logic.
//!
//! Every call that waits releases the interpreter and sleeps on the calling thread, where signals
//! reach it; those of `aio` return futures instead. What Python sees is said in the stubs of
//! `_core`, which are its docstrings; a test proves that the stubs and this module agree.

#![expect(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "docstrings are those of the stubs, in Python's form"
)]

mod administration;
mod aio;
mod arguments;
mod broker;
mod client;
mod docstrings;
mod errors;
mod logging;
mod module;
mod owned;
mod producing;
mod reading;
mod republishing;
mod signals;
mod watching;
