//! The settings of a context, applied to a client.
//!
//! ```toml
//! current = "staging"            # used unless a command names one
//!
//! [context.staging]
//! bootstrap.servers = "10.0.0.7:9092"
//! linger.ms = 20                 # any setting of a client, under Kafka's name
//! ```

use std::collections::BTreeMap;
use std::env;

use crate::cli::context::file::ContextsFile;
use crate::client::ClientSettings;
use crate::config::{ConfigError, in_unit_of, nearest};

/// The environment variable with the addresses of brokers.
pub(crate) const BOOTSTRAP_VARIABLE: &str = "STREAMLOG_BOOTSTRAP";

/// The variable that names a context.
pub(super) const VARIABLE: &str = "STREAMLOG_CONTEXT";

/// The settings of a context; empty if no context is selected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    rows: BTreeMap<String, String>,
    /// The location of the settings, for error messages.
    place: String,
}

impl Context {
    /// Reads the context of this name, or the one selected by the environment or the file.
    pub(crate) fn read(name: Option<&str>) -> Result<Self, ConfigError> {
        let variable = variable(VARIABLE);
        Self::of(&ContextsFile::read()?, name.or(variable.as_deref()))
    }

    fn of(file: &ContextsFile, name: Option<&str>) -> Result<Self, ConfigError> {
        let Some(name) = name.or(file.current()) else { return Ok(Self::default()) };
        let rows = file.settings(name);
        if rows.is_empty() {
            return Err(ConfigError::single("context", missing(file, name)));
        }
        let row = |(key, value): (&str, &str)| (key.to_owned(), in_unit_of(key, value));
        let place = format!("[context.{name}] of {}", file.place());
        Ok(Self { rows: rows.into_iter().map(row).collect(), place })
    }

    /// Applies the settings to a client.
    pub(crate) fn apply(&self, settings: &mut ClientSettings) -> Result<(), ConfigError> {
        let rows = self.rows.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        settings.set_all(rows).map_err(|error| error.of(&self.place))
    }
}

/// The error text for a missing context, with the most similar name.
fn missing(file: &ContextsFile, name: &str) -> String {
    let nearest = nearest(name, file.names().into_iter());
    let meant = nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
    format!("there is no [context.{name}] in {}{meant}", file.place())
}

/// Returns an environment variable, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "current = 'a'\n[context.a]\nbootstrap.servers = 'a:1'\n\
                        [context.b]\nbootstrap.servers = 'b:1'\nlinger.ms = 3\n";

    fn read(text: &str, name: Option<&str>) -> Result<Context, ConfigError> {
        Context::of(&ContextsFile::of(text, Some("config.toml".into()))?, name)
    }

    fn rows(name: Option<&str>) -> Result<Vec<(String, String)>, ConfigError> {
        Ok(read(FILE, name)?.rows.into_iter().collect())
    }

    fn complaint(text: &str) -> String {
        let context = read(text, Some("a"));
        let applied = context.and_then(|context| context.apply(&mut ClientSettings::default()));
        applied.unwrap_err().to_string()
    }

    #[test]
    fn a_named_context_overrides_the_current_one() {
        assert_eq!(rows(None).unwrap(), [("bootstrap.servers".to_owned(), "a:1".to_owned())]);
        assert_eq!(rows(Some("b")).unwrap().len(), 2);
    }

    #[test]
    fn a_missing_context_is_named() {
        let error = rows(Some("c")).unwrap_err().to_string();
        assert!(error.contains("[context.c] in config.toml"), "{error}");
        let error =
            read("[context.staging]\nlinger.ms = 1", Some("stagng")).unwrap_err().to_string();
        assert!(error.contains("did you mean 'staging'?"), "{error}");
    }

    #[test]
    fn an_error_names_the_file_and_the_context() {
        let torn = complaint("[context.a");
        assert!(torn.starts_with("config.toml: no TOML: line 1, column 11\n"), "{torn}");
        let mistyped = complaint("[context.a]\nlingr.ms = 5");
        let place = "[context.a] of config.toml: lingr.ms: unknown setting";
        assert!(mistyped.starts_with(place), "{mistyped}");
    }

    #[test]
    fn unknown_keys_are_refused() {
        for text in ["curent = 'a'", "[contxt.a]\nlinger.ms = 1"] {
            let text = complaint(text);
            assert!(text.starts_with("config.toml: cu") || text.starts_with("config.toml: contxt"));
            assert!(text.contains("[context.NAME]"), "{text}");
        }
    }
}
