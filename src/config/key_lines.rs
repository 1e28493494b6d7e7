//! The lines of keys in a TOML text, for messages that say where a value stands.

use toml::de::{DeTable, DeValue};

use crate::config::ConfigError;
use crate::config::source::no_toml;

/// A step on the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The key of a table.
    Key(String),
    /// The position in an array, from 0.
    Index(usize),
}

/// The line, from 1, of every key and every array element, with the path that leads there.
///
/// # Errors
/// When the text is not TOML (with line and column).
pub(crate) fn key_lines(text: &str) -> Result<Vec<(Vec<Step>, usize)>, ConfigError> {
    let root = DeTable::parse(text).map_err(|error| no_toml(&error))?;
    let newlines = text.match_indices('\n').map(|(position, _)| position).collect();
    let mut walk = Walk { newlines, path: Vec::new(), found: Vec::new() };
    walk.table(root.get_ref());
    Ok(walk.found)
}

/// A walk through a document.
struct Walk {
    /// Positions of the line ends, in bytes.
    newlines: Vec<usize>,
    path: Vec<Step>,
    found: Vec<(Vec<Step>, usize)>,
}

impl Walk {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.step(Step::Key(key.get_ref().to_string()), key.span().start, value.get_ref());
        }
    }

    fn step(&mut self, step: Step, position: usize, value: &DeValue<'_>) {
        self.path.push(step);
        let line = self.newlines.partition_point(|newline| *newline < position) + 1;
        self.found.push((self.path.clone(), line));
        match value {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(Step::Index(index), item.span().start, item.get_ref());
                }
            }
            _ => {}
        }
        self.path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, path: &str) -> Option<usize> {
        let spelled = |steps: &[Step]| {
            let words = steps.iter().map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Index(index) => index.to_string(),
            });
            words.collect::<Vec<_>>().join("/")
        };
        let found = key_lines(text).unwrap();
        found.iter().find(|(steps, _)| spelled(steps) == path).map(|(_, line)| *line)
    }

    #[test]
    fn keys_and_elements_have_the_lines_where_they_stand() {
        let text = "# comment\na.b = 1\n'q\"' = [\n  1,\n  { c = 2 },\n]\n\n\
                    [t.u]\nv = '''\n[no]\n'''\n\
                    [[list]]\nx = 1\r\n[[list]]\nx = 2\n";
        for (path, expected) in [
            ("a", 2),
            ("a/b", 2),
            ("q\"", 3),
            ("q\"/0", 4),
            ("q\"/1/c", 5),
            ("t/u", 8),
            ("t/u/v", 9),
            ("list", 12),
            ("list/1", 14),
            ("list/1/x", 15),
        ] {
            assert_eq!(line(text, path), Some(expected), "{path}");
        }
        assert_eq!(line(text, "no"), None);
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_place() {
        let error = key_lines("a = 1\nb = [").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
