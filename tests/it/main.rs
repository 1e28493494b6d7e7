//! The client against a real broker in the same process.

mod cluster;
mod durability;
mod groups;
mod power_cuts;
mod producing;
mod support;
