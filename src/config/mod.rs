//! Settings: one declaration per setting, shared by every source of values.
//!
//! A layer keeps its settings beside the code that uses them. `settings!` declares them: a typed
//! struct with `Default`, and `KEYS`, one [`Key`] per setting under Kafka's name. Files, flags,
//! topic overrides and the generated reference all come from these rows.

mod address;
mod error;
mod key;
#[cfg(any(feature = "python", all(test, feature = "broker")))]
mod key_lines;
mod settings;
mod size;
#[cfg(any(feature = "broker", feature = "python"))]
mod source;
mod typed;
mod value;

pub use address::HostPort;
pub use error::{ConfigError, Fault, nearest};
pub(crate) use key::set_named;
pub use key::{Definition, Key, Kind, UpdateMode, set_all};
#[cfg(feature = "python")]
pub(crate) use key_lines::{Step, key_lines};
pub use settings::Settings;
pub(crate) use settings::settings;
pub use size::ByteSize;
#[cfg(feature = "broker")]
pub use source::{read_properties, read_toml};
#[cfg(feature = "python")]
pub(crate) use typed::interval;
pub use typed::{duration, in_unit_of, unit_millis};
pub use value::{AlwaysFalse, Minutes, Number, SettingValue, within};
