//! Brokers on small file systems that are filled to the last byte.

mod cycles;
mod freeing;
mod refusal;
mod refused_changes;
mod reserve_size;
mod station;
mod volume;
