//! The contexts file, edited by hand and by commands: comments and order are preserved.
//!
//! Its path is `$STREAMLOG_CONFIG`, or else `streamlog/config.toml` in `$XDG_CONFIG_HOME` or
//! `~/.config`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::config::{ConfigError, read_toml};

/// The key of the current context's name.
const CURRENT: &str = "current";

/// The table of all contexts.
const CONTEXTS: &str = "context";

/// The mode of a new file; settings may contain secrets in future.
const MODE: u32 = 0o600;

/// The parsed contexts file.
#[derive(Debug)]
pub(crate) struct ContextsFile {
    /// `None` if no environment variable leads to a path, not even `HOME`.
    path: Option<PathBuf>,
    document: DocumentMut,
    rows: Vec<(String, String)>,
}

impl ContextsFile {
    /// Reads the file; it is empty if it does not exist.
    pub(crate) fn read() -> Result<Self, ConfigError> {
        let Some(path) = path() else { return Self::of("", None) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(ConfigError::single(&path.to_string_lossy(), error.to_string()));
            }
        };
        Self::of(&text, Some(path))
    }

    /// Parses the text of a file.
    pub(super) fn of(text: &str, path: Option<PathBuf>) -> Result<Self, ConfigError> {
        let mut file = Self { path, document: DocumentMut::new(), rows: Vec::new() };
        file.rows = read_rows(text).map_err(|error| error.of(file.place()))?;
        // Both libraries use the same TOML parser, so this cannot fail after `read_rows`.
        file.document = text.parse().map_err(|error: toml_edit::TomlError| {
            ConfigError::single("no TOML", error.message()).of(file.place())
        })?;
        Ok(file)
    }

    /// The path for error messages.
    pub(super) fn place(&self) -> String {
        self.path.as_deref().unwrap_or(Path::new("~")).display().to_string()
    }

    /// The name of the current context.
    pub(super) fn current(&self) -> Option<&str> {
        self.rows.iter().find(|(key, _)| key == CURRENT).map(|(_, name)| name.as_str())
    }

    /// The names of all contexts, in the order of the file.
    pub(crate) fn names(&self) -> Vec<&str> {
        let contexts = self.document.get(CONTEXTS).and_then(Item::as_table_like);
        contexts.iter().flat_map(|contexts| contexts.iter()).map(|(name, _)| name).collect()
    }

    /// The settings of a context; empty if it does not exist.
    pub(super) fn settings(&self, name: &str) -> Vec<(&str, &str)> {
        let prefix = format!("{CONTEXTS}.{name}.");
        let rows = self.rows.iter();
        rows.filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value.as_str()))).collect()
    }

    /// Sets or clears the current context.
    pub(super) fn choose(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            self.document.remove(CURRENT);
            return;
        };
        match self.document.get_mut(CURRENT).and_then(Item::as_value_mut) {
            Some(before) => {
                // Keep a comment after the value.
                let decor = before.decor().clone();
                *before = Value::from(name);
                *before.decor_mut() = decor;
            }
            None => {
                self.document.insert(CURRENT, toml_edit::value(name));
            }
        }
    }

    /// Appends a context, or replaces the one with the same name.
    pub(super) fn put(&mut self, name: &str, settings: &[(String, String)]) {
        let mut table = Table::new();
        for (key, value) in settings {
            insert(&mut table, key, value);
        }
        let contexts = self.document.entry(CONTEXTS).or_insert_with(|| {
            let mut contexts = Table::new();
            // Implicit: write no heading for the parent table.
            contexts.set_implicit(true);
            Item::Table(contexts)
        });
        if let Some(contexts) = contexts.as_table_like_mut() {
            contexts.insert(name, Item::Table(table));
        }
    }

    /// Removes a context, and clears the current context if it was this one.
    pub(super) fn remove(&mut self, name: &str) {
        if self.current() == Some(name) {
            self.choose(None);
        }
        let contexts = self.document.get_mut(CONTEXTS).and_then(Item::as_table_like_mut);
        contexts.and_then(|contexts| contexts.remove(name));
    }

    /// Writes the file atomically.
    pub(super) fn save(&self) -> Result<(), ConfigError> {
        let refused = |error: io::Error| ConfigError::single(&self.place(), error.to_string());
        let Some(path) = &self.path else {
            let reason = "there is no home directory: name the file in STREAMLOG_CONFIG";
            return Err(ConfigError::single("contexts file", reason));
        };
        // Resolve a symbolic link, so that its target is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        // Removing the first item leaves the blank line before the next table: trim it.
        let text = self.document.to_string();
        replace(&path, text.trim_start_matches('\n').as_bytes()).map_err(refused)
    }
}

/// Parses the rows of a contexts file and refuses unknown keys, which may be misspellings.
fn read_rows(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let rows = read_toml(text)?;
    let prefix = format!("{CONTEXTS}.");
    match rows.iter().find(|(key, _)| key != CURRENT && !key.starts_with(&prefix)) {
        Some((key, _)) => {
            Err(ConfigError::single(key, "expected current = \"NAME\" or a table [context.NAME]"))
        }
        None => Ok(rows),
    }
}

/// Inserts a key such as `linger.ms` as a dotted TOML key.
fn insert(table: &mut Table, key: &str, value: &str) {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key, toml_edit::value(value));
        return;
    };
    let inner = table.entry(first).or_insert_with(|| {
        let mut inner = Table::new();
        inner.set_dotted(true);
        Item::Table(inner)
    });
    if let Some(inner) = inner.as_table_mut() {
        insert(inner, rest, value);
    }
}

#[expect(clippy::disallowed_methods, reason = "a person's file, not one of a log")]
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&beside)?;
    let written = file.write_all(text).and_then(|()| match fs::metadata(path) {
        Ok(before) => file.set_permissions(before.permissions()),
        Err(_) => Ok(()),
    });
    let replaced = written.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
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

    const FILE: &str = "# clusters\ncurrent = 'a'  # for now\n\n# near\n[context.a]\n\
                        bootstrap.servers = 'a:1'\n\n[context.b]\nlinger.ms = 3\n";

    fn changed(change: impl FnOnce(&mut ContextsFile)) -> String {
        let mut file = ContextsFile::of(FILE, None).unwrap();
        change(&mut file);
        file.document.to_string()
    }

    #[test]
    fn a_change_preserves_the_rest_of_the_file() {
        assert_eq!(changed(|_| {}), FILE);
        let chosen = changed(|file| file.choose(Some("b")));
        assert_eq!(chosen, FILE.replace("'a'  #", "\"b\"  #"));
        let settings = [("bootstrap.servers", "c:1"), ("linger.ms", "7")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let added = changed(|file| file.put("c", &settings));
        let table = "\n[context.c]\nbootstrap.servers = \"c:1\"\nlinger.ms = \"7\"\n";
        assert_eq!(added, format!("{FILE}{table}"));
        let removed = changed(|file| file.remove("b"));
        assert_eq!(removed, FILE.replace("\n[context.b]\nlinger.ms = 3\n", ""));
    }

    #[test]
    fn removing_the_current_context_clears_it() {
        let removed = changed(|file| file.remove("a"));
        assert!(!removed.contains("current") && removed.contains("[context.b]"), "{removed}");
        let file = ContextsFile::of(&removed, None).unwrap();
        assert_eq!((file.names(), file.current()), (vec!["b"], None));
    }

    #[test]
    fn a_new_file_starts_with_the_current_context() {
        let mut file = ContextsFile::of("", None).unwrap();
        file.put("a", &[("bootstrap.servers".to_owned(), "h:1".to_owned())]);
        file.choose(Some("a"));
        let expected = "current = \"a\"\n\n[context.a]\nbootstrap.servers = \"h:1\"\n";
        assert_eq!(file.document.to_string(), expected);
    }
}
