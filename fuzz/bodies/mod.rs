//! Checks of decoders against arbitrary bytes: one file per decoder, run by cargo-fuzz and by the
//! stable driver in `tests/it/hostile/fuzzing.rs`.

pub(crate) mod batch_iterate;
pub(crate) mod batch_validate;
pub(crate) mod decompress;
pub(crate) mod wire_request;
pub(crate) mod wire_response;
