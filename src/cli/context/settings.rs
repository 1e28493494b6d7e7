//! The contexts file: clusters by name, so that nobody types addresses.
//!
//! ```toml
//! current = "staging"            # used when none is named
//!
//! [context.staging]
//! bootstrap.servers = "10.0.0.7:9092"
//! linger.ms = 20                 # any setting of a client, under Kafka's name
//! ```
//!
//! It is `$STREAMLOG_CONFIG`, else `streamlog/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::client::ClientSettings;
use crate::config::{ConfigError, in_unit_of, read_toml};

/// The key that chooses a context.
const CURRENT: &str = "current";

/// What the keys of all contexts begin with.
const TABLE: &str = "context.";

/// The settings of one context; none of them without a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    rows: BTreeMap<String, String>,
    /// Where they stand, for complaints about them.
    place: String,
}

impl Context {
    /// The context of this name, or the one that the environment or the file chooses.
    pub(crate) fn read(name: Option<&str>) -> Result<Self, ConfigError> {
        let variable = variable("STREAMLOG_CONTEXT");
        let name = name.or(variable.as_deref());
        let Some(path) = path() else { return Self::of("", name, Path::new("~")) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(ConfigError::single(&path.to_string_lossy(), error.to_string()));
            }
        };
        Self::of(&text, name, &path)
    }

    fn of(text: &str, name: Option<&str>, path: &Path) -> Result<Self, ConfigError> {
        let rows = read(text).map_err(|error| error.of(path.display()))?;
        let chosen = rows.iter().find(|(key, _)| key == CURRENT).map(|(_, name)| name.as_str());
        let Some(name) = name.or(chosen) else { return Ok(Self::default()) };
        let prefix = format!("{TABLE}{name}.");
        let own = |(key, value): &(String, String)| {
            let key = key.strip_prefix(&prefix)?;
            Some((key.to_owned(), in_unit_of(key, value)))
        };
        let own: BTreeMap<String, String> = rows.iter().filter_map(own).collect();
        if own.is_empty() {
            let reason = format!("there is no [context.{name}] in {}", path.display());
            return Err(ConfigError::single("context", reason));
        }
        Ok(Self { rows: own, place: format!("[context.{name}] of {}", path.display()) })
    }

    /// Gives its settings to a client.
    pub(crate) fn apply(&self, settings: &mut ClientSettings) -> Result<(), ConfigError> {
        let rows = self.rows.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        settings.set_all(rows).map_err(|error| error.of(&self.place))
    }
}

/// The rows of a contexts file. A word that means nothing in it may be the cluster that was meant.
fn read(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let rows = read_toml(text)?;
    match rows.iter().find(|(key, _)| key != CURRENT && !key.starts_with(TABLE)) {
        Some((key, _)) => {
            Err(ConfigError::single(key, "expected current = \"NAME\" or a table [context.NAME]"))
        }
        None => Ok(rows),
    }
}

/// A variable of the environment, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("STREAMLOG_CONFIG") {
        return Some(path.into());
    }
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let base = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
    Some(base.join("streamlog/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "current = 'a'\n[context.a]\nbootstrap.servers = 'a:1'\n\
                        [context.b]\nbootstrap.servers = 'b:1'\nlinger.ms = 3\n";

    fn rows(name: Option<&str>) -> Result<Vec<(String, String)>, ConfigError> {
        let context = Context::of(FILE, name, Path::new("config.toml"))?;
        Ok(context.rows.into_iter().collect())
    }

    fn complaint(text: &str) -> String {
        let context = Context::of(text, Some("a"), Path::new("config.toml"));
        let applied = context.and_then(|context| context.apply(&mut ClientSettings::default()));
        applied.unwrap_err().to_string()
    }

    #[test]
    fn the_named_context_wins_over_the_chosen_one() {
        assert_eq!(rows(None).unwrap(), [("bootstrap.servers".to_owned(), "a:1".to_owned())]);
        assert_eq!(rows(Some("b")).unwrap().len(), 2);
    }

    #[test]
    fn a_context_that_is_not_there_is_named() {
        let error = rows(Some("c")).unwrap_err().to_string();
        assert!(error.contains("[context.c] in config.toml"), "{error}");
    }

    #[test]
    fn a_complaint_says_where_it_stands() {
        let torn = complaint("[context.a");
        assert!(torn.starts_with("config.toml: no TOML: line 1, column 11\n"), "{torn}");
        let mistyped = complaint("[context.a]\nlingr.ms = 5");
        let place = "[context.a] of config.toml: lingr.ms: unknown setting";
        assert!(mistyped.starts_with(place), "{mistyped}");
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        for text in ["curent = 'a'", "[contxt.a]\nlinger.ms = 1"] {
            let text = complaint(text);
            assert!(text.starts_with("config.toml: cu") || text.starts_with("config.toml: contxt"));
            assert!(text.contains("[context.NAME]"), "{text}");
        }
    }
}
