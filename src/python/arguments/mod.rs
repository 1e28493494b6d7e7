//! Conversion of Python arguments to the client's types: keywords, `config={...}`, times,
//! positions.

mod options;
mod start;
mod times;
mod values;

pub(crate) use options::{Form, Options, Word, callable, mapping, plain as text};
pub(crate) use start::{Seek, partition, start};
pub(crate) use times::{datetime, max_wait, monotonic, seconds, timeout, timestamp};
pub(crate) use values::{misfit, value};
