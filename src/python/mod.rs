//! The native module of the Python package, `streamlog._core`: one file per class, no logic.
//!
//! Every call that waits releases the interpreter and sleeps on the calling thread, where signals
//! reach it. What Python sees is said in `_core.pyi`, and a test proves that the stub and this
//! module agree.

mod admin;
mod arguments;
mod bounded;
mod client;
mod consumer;
mod errors;
mod message;
mod module;
mod owned;
mod producer;
mod record_metadata;
mod signals;
mod ticket;
mod topic;
mod until_end;
