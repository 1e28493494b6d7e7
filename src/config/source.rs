//! Configuration files: TOML, and Kafka's `server.properties`.
//!
//! Both are flattened to (key, value) rows, those of a properties file in its order. A TOML table
//! is a prefix: `[log]` with `retention.hours = 24` and `"log.retention.hours" = 24` give the same
//! row.

use toml::{Table, Value};

use crate::config::ConfigError;

/// The rows of a TOML text.
///
/// # Errors
/// If the text is not TOML (with line and column), a value is a date, or a list contains a date, a
/// table or another list.
pub fn read_toml(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let table: Table = text.parse().map_err(|error| no_toml(&error))?;
    let mut rows = Vec::new();
    flatten("", &table, &mut rows)?;
    Ok(rows)
}

/// The error of a text that is not TOML, with line and column.
pub(super) fn no_toml(error: &toml::de::Error) -> ConfigError {
    let words = error.to_string();
    let place = words.strip_prefix("TOML parse error at ").unwrap_or(&words);
    ConfigError::single("no TOML", place.trim_end())
}

fn flatten(
    prefix: &str,
    table: &Table,
    rows: &mut Vec<(String, String)>,
) -> Result<(), ConfigError> {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => flatten(&key, inner, rows)?,
            Value::Array(items) => {
                let words: Result<Vec<_>, _> = items.iter().map(|v| scalar(&key, v)).collect();
                rows.push((key, words?.join(",")));
            }
            _ => {
                let text = scalar(&key, value)?;
                rows.push((key, text));
            }
        }
    }
    Ok(())
}

fn scalar(key: &str, value: &Value) -> Result<String, ConfigError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(flag) => Ok(flag.to_string()),
        _ => Err(ConfigError::single(key, "expected text, a number, true or false")),
    }
}

/// The rows of a properties text: `key=value` or `key: value`. `#` and `!` begin comments; a
/// backslash at the end of a line joins it with the next.
///
/// # Errors
/// If a line has neither `=` nor `:`.
pub fn read_properties(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let mut rows = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while line.ends_with('\\') {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            return Err(ConfigError::single(line.trim(), "expected key=value"));
        };
        rows.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn toml_tables_are_prefixes_and_lists_are_joined() {
        let text = "listen = '127.0.0.1:0'\n\"broker.id\" = 3\n[log]\nretention.hours = 24\n\
                    dirs = ['a', 'b']\n";
        let expected = rows(&[
            ("broker.id", "3"),
            ("listen", "127.0.0.1:0"),
            ("log.dirs", "a,b"),
            ("log.retention.hours", "24"),
        ]);
        let mut read = read_toml(text).unwrap();
        read.sort();
        assert_eq!(read, expected);
        assert!(read_toml("a = [").is_err());
    }

    #[test]
    fn properties_have_comments_two_separators_and_continued_lines() {
        let text = "# a comment\nbroker.id=3\n log.dirs : /a,\\\n   /b\n\n! another\n";
        let expected = rows(&[("broker.id", "3"), ("log.dirs", "/a,/b")]);
        assert_eq!(read_properties(text).unwrap(), expected);
        assert!(read_properties("nonsense").is_err());
    }
}
