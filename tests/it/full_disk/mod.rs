//! Brokers on small file systems of this machine that are filled to the last byte.

mod cycles;
mod refusal;
mod station;
mod volume;
