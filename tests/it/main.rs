//! The client against a real broker in the same process.

mod cluster;
mod consuming;
mod producing;
