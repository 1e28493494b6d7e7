//! Settings: one row per key, shared by every source of values.
//!
//! A layer keeps its settings beside the code they rule: a typed struct with `Default`, and `KEYS`,
//! one [`Key`] per setting under Kafka's name. Files, flags, topic overrides and the generated
//! reference all come from these rows.

mod address;
mod error;
mod key;
#[cfg(any(feature = "python", all(test, feature = "broker")))]
mod key_lines;
mod size;
#[cfg(any(feature = "broker", feature = "python"))]
mod source;
mod typed;
mod value;

pub use address::HostPort;
pub use error::{ConfigError, Fault, nearest};
pub use key::{Key, Kind, set_all};
pub(crate) use key::{names, set_row};
#[cfg(feature = "python")]
pub use key_lines::{Step, key_lines};
pub use size::ByteSize;
#[cfg(feature = "broker")]
pub use source::{read_properties, read_toml};
#[cfg(feature = "python")]
pub use typed::interval;
pub use typed::{duration, in_unit_of};
pub use value::{millis, number, size, switch};
