//! Scrubbing: reading every record from the medium regularly, so that bit rot is found while a
//! backup still has the lost data.

mod rounds;
mod scrubber;

pub use scrubber::ScrubOptions;
pub(super) use scrubber::Scrubber;

#[cfg(test)]
mod rounds_tests;
#[cfg(test)]
mod scrubber_tests;
