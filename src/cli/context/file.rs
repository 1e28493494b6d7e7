//! The contexts file, as a person writes it and as verbs change it: comments and order stay.
//!
//! It is `$STREAMLOG_CONFIG`, else `streamlog/config.toml` in `$XDG_CONFIG_HOME` or `~/.config`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::config::{ConfigError, read_toml};

/// The key that chooses a context.
const CURRENT: &str = "current";

/// The table of all contexts.
const CONTEXTS: &str = "context";

/// Settings may hold secrets one day.
const MODE: u32 = 0o600;

/// The file, read.
#[derive(Debug)]
pub(crate) struct ContextsFile {
    /// `None` without a home directory.
    path: Option<PathBuf>,
    document: DocumentMut,
    rows: Vec<(String, String)>,
}

impl ContextsFile {
    /// The file of the environment; empty if there is none.
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

    /// A file of this text.
    pub(super) fn of(text: &str, path: Option<PathBuf>) -> Result<Self, ConfigError> {
        let mut file = Self { path, document: DocumentMut::new(), rows: Vec::new() };
        file.rows = read_rows(text).map_err(|error| error.of(file.place()))?;
        // What one library takes for TOML, the other does as well: they share the parser.
        file.document = text.parse().map_err(|error: toml_edit::TomlError| {
            ConfigError::single("no TOML", error.message()).of(file.place())
        })?;
        Ok(file)
    }

    /// Where it is, for complaints.
    pub(super) fn place(&self) -> String {
        self.path.as_deref().unwrap_or(Path::new("~")).display().to_string()
    }

    /// The name that the file chooses.
    pub(super) fn current(&self) -> Option<&str> {
        self.rows.iter().find(|(key, _)| key == CURRENT).map(|(_, name)| name.as_str())
    }

    /// The names of all contexts, in the order of the file.
    pub(crate) fn names(&self) -> Vec<&str> {
        let contexts = self.document.get(CONTEXTS).and_then(Item::as_table_like);
        contexts.iter().flat_map(|contexts| contexts.iter()).map(|(name, _)| name).collect()
    }

    /// The settings of a context; none if there is no such context.
    pub(super) fn settings(&self, name: &str) -> Vec<(&str, &str)> {
        let prefix = format!("{CONTEXTS}.{name}.");
        let rows = self.rows.iter();
        rows.filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value.as_str()))).collect()
    }

    /// Chooses a context, or none.
    pub(super) fn choose(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            self.document.remove(CURRENT);
            return;
        };
        match self.document.get_mut(CURRENT).and_then(Item::as_value_mut) {
            Some(before) => {
                // A comment behind it stays.
                let decor = before.decor().clone();
                *before = Value::from(name);
                *before.decor_mut() = decor;
            }
            None => {
                self.document.insert(CURRENT, toml_edit::value(name));
            }
        }
    }

    /// Puts a context at the end, or in the place of the one that has its name.
    pub(super) fn put(&mut self, name: &str, settings: &[(String, String)]) {
        let mut table = Table::new();
        for (key, value) in settings {
            insert(&mut table, key, value);
        }
        let contexts = self.document.entry(CONTEXTS).or_insert_with(|| {
            let mut contexts = Table::new();
            // No heading without rows.
            contexts.set_implicit(true);
            Item::Table(contexts)
        });
        if let Some(contexts) = contexts.as_table_like_mut() {
            contexts.insert(name, Item::Table(table));
        }
    }

    /// Removes a context; if it was the chosen one, none is.
    pub(super) fn remove(&mut self, name: &str) {
        if self.current() == Some(name) {
            self.choose(None);
        }
        let contexts = self.document.get_mut(CONTEXTS).and_then(Item::as_table_like_mut);
        contexts.and_then(|contexts| contexts.remove(name));
    }

    /// Writes it, whole or not at all.
    pub(super) fn save(&self) -> Result<(), ConfigError> {
        let refused = |error: io::Error| ConfigError::single(&self.place(), error.to_string());
        let Some(path) = &self.path else {
            let reason = "there is no home directory; STREAMLOG_CONFIG=FILE says where it is to be";
            return Err(ConfigError::single("contexts file", reason));
        };
        // Behind a link, the file that is meant is replaced, and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        // The gap before a table stays when what stood before it is removed.
        let text = self.document.to_string();
        replace(&path, text.trim_start_matches('\n').as_bytes()).map_err(refused)
    }
}

/// The rows of a contexts file. A word that means nothing in it may be the cluster that was meant.
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

/// Puts `linger.ms` in as TOML's dotted key of that name.
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
    fn a_change_leaves_the_rest_as_it_was() {
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
    fn a_chosen_context_that_is_removed_is_chosen_no_more() {
        let removed = changed(|file| file.remove("a"));
        assert!(!removed.contains("current") && removed.contains("[context.b]"), "{removed}");
        let file = ContextsFile::of(&removed, None).unwrap();
        assert_eq!((file.names(), file.current()), (vec!["b"], None));
    }

    #[test]
    fn a_new_file_begins_with_its_choice() {
        let mut file = ContextsFile::of("", None).unwrap();
        file.put("a", &[("bootstrap.servers".to_owned(), "h:1".to_owned())]);
        file.choose(Some("a"));
        let expected = "current = \"a\"\n\n[context.a]\nbootstrap.servers = \"h:1\"\n";
        assert_eq!(file.document.to_string(), expected);
    }
}
