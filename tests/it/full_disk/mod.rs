//! Brokers on small file systems of this machine that are filled to the last byte.

mod cycles;
mod station;
mod volume;
