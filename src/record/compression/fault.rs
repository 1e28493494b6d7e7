//! The reason why a codec failed, before the codec is attached to it.

use std::io;

#[derive(Debug)]
pub(super) enum Fault {
    /// The stream is damaged.
    Damaged(io::Error),
    /// The output exceeds the limit.
    TooMuch,
}

impl Fault {
    pub(super) fn damaged(detail: &'static str) -> Self {
        Self::Damaged(io::Error::new(io::ErrorKind::InvalidData, detail))
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error)
    }
}
