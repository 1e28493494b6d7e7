//! Text tables: aligned columns, or a line per field if the columns are too wide.

use std::io::{self, Write};

use console::measure_text_width;
use serde_json::Value;

use crate::cli::terminal::{Terminal, Tone, escaped};

/// The headings and colours of a table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Headings of the columns.
    pub(crate) headings: Vec<String>,
    /// True if the headings are written.
    pub(crate) has_headings: bool,
    /// Coloured values, with the indexes of their columns.
    pub(crate) tones: Vec<(usize, &'static str, Tone)>,
    /// The terminal that shows the table, if any.
    pub(crate) terminal: Option<Terminal>,
}

impl Table {
    /// Writes rows under their headings, numbers aligned right and everything else left. If the
    /// terminal is too narrow for a table with headings, each row is written as by `write_fields`.
    pub(crate) fn write(&self, out: &mut dyn Write, rows: &[Vec<Value>]) -> io::Result<()> {
        let widths = self.widths(rows);
        let line_width = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let is_too_wide = self.terminal.is_some_and(|terminal| line_width > terminal.columns);
        if is_too_wide && self.has_headings {
            return rows.iter().enumerate().try_for_each(|(number, row)| {
                if number > 0 {
                    writeln!(out)?;
                }
                self.write_fields(out, row)
            });
        }
        let numeric: Vec<bool> = (0..widths.len()).map(|column| is_numeric(rows, column)).collect();
        if self.has_headings {
            let headings = self.headings.iter().map(|text| (text.clone(), Some(Tone::Heading)));
            self.write_line(out, headings, &widths, &numeric)?;
        }
        rows.iter().try_for_each(|row| {
            let cells = row.iter().enumerate().map(|(column, value)| self.cell(column, value));
            self.write_line(out, cells, &widths, &numeric)
        })
    }

    /// Writes a line per field, with the values aligned.
    pub(crate) fn write_fields(&self, out: &mut dyn Write, row: &[Value]) -> io::Result<()> {
        let width = self.headings.iter().map(String::len).max().unwrap_or(0);
        self.headings.iter().zip(row).enumerate().try_for_each(|(column, (name, value))| {
            let name = self.toned(format!("{name:<width$}"), Some(Tone::Heading));
            let (text, tone) = self.cell(column, value);
            writeln!(out, "{name}  {}", self.toned(text, tone))
        })
    }

    /// The width of each column.
    fn widths(&self, rows: &[Vec<Value>]) -> Vec<usize> {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| measure_text_width(&shown(&row[column])));
            let heading = self.has_headings.then(|| measure_text_width(&self.headings[column]));
            cells.chain(heading).max().unwrap_or(0)
        };
        (0..self.headings.len()).map(width).collect()
    }

    fn write_line(
        &self,
        out: &mut dyn Write,
        cells: impl Iterator<Item = (String, Option<Tone>)>,
        widths: &[usize],
        numeric: &[bool],
    ) -> io::Result<()> {
        let mut line = String::new();
        // Omit trailing spaces.
        let mut gap = 0;
        for (((text, tone), width), is_numeric) in cells.zip(widths).zip(numeric) {
            let room = width.saturating_sub(measure_text_width(&text));
            let (before, behind) = if *is_numeric { (room, 0) } else { (0, room) };
            if text.is_empty() {
                gap += width + 2;
                continue;
            }
            line.extend(std::iter::repeat_n(' ', gap + before));
            line.push_str(&self.toned(text, tone));
            gap = behind + 2;
        }
        writeln!(out, "{line}")
    }

    fn cell(&self, column: usize, value: &Value) -> (String, Option<Tone>) {
        let text = shown(value);
        let found = self.tones.iter().find(|(of, meant, _)| *of == column && *meant == text);
        (text, found.map(|(_, _, tone)| *tone))
    }

    fn toned(&self, text: String, tone: Option<Tone>) -> String {
        match (self.terminal, tone) {
            (Some(terminal), Some(tone)) => terminal.toned(&text, tone),
            _ => text,
        }
    }
}

/// Returns true if a column holds only numbers.
fn is_numeric(rows: &[Vec<Value>], column: usize) -> bool {
    let mut known = rows.iter().map(|row| &row[column]).filter(|cell| !cell.is_null()).peekable();
    known.peek().is_some() && known.all(Value::is_number)
}

/// A value without quotes: nothing for null, items of a simple list joined, nested values as JSON.
pub(crate) fn plain(value: &Value) -> String {
    let is_plain = |item: &Value| !item.is_array() && !item.is_object();
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(is_plain) => {
            items.iter().map(plain).collect::<Vec<_>>().join(",")
        }
        // Write a whole number without a fraction, even if it is a float.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// A cell for display.
fn shown(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { escaped(&plain(value)).into_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(terminal: impl Into<Option<Terminal>>) -> Table {
        let headings = ["TOPIC", "PARTITION", "STATUS"].map(str::to_owned).to_vec();
        let tones = vec![(2, "bad", Tone::Bad)];
        Table { headings, has_headings: true, tones, terminal: terminal.into() }
    }

    fn terminal(columns: usize, has_colours: bool) -> Terminal {
        Terminal { columns, lines: 24, has_colours, has_cursor: true }
    }

    fn written(table: &Table) -> String {
        let rows = [
            vec![json!("a, b"), json!(7), json!("ok")],
            vec![json!("x"), json!(null), json!("bad")],
        ];
        let mut out = Vec::new();
        table.write(&mut out, &rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    const ALIGNED: &str = "TOPIC  PARTITION  STATUS\na, b           7  ok\nx              -  bad\n";

    #[test]
    fn columns_are_aligned_under_headings() {
        for terminal in [None, Some(terminal(24, false)), Some(terminal(usize::MAX, false))] {
            assert_eq!(written(&table(terminal)), ALIGNED);
        }
        let bare = Table { has_headings: false, ..table(None) };
        assert_eq!(written(&bare), "a, b  7  ok\nx     -  bad\n");
    }

    #[test]
    fn control_characters_are_escaped() {
        let rows = [vec![json!("two\nlines"), json!(["\u{1b}[2J", "ä\u{9b}"]), json!("ok")]];
        let mut out = Vec::new();
        table(None).write(&mut out, &rows).unwrap();
        table(None).write_fields(&mut out, &rows[0]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches(char::is_control).collect::<String>(), "\n".repeat(2 + 3));
        for cell in ["two\\nlines", "\\u{1b}[2J,ä\\u{9b}"] {
            assert_eq!(text.matches(cell).count(), 2, "{text}");
        }
    }

    #[test]
    fn a_narrow_terminal_shows_a_line_per_field() {
        let expected = "TOPIC      a, b\nPARTITION  7\nSTATUS     ok\n\n\
                        TOPIC      x\nPARTITION  -\nSTATUS     bad\n";
        assert_eq!(written(&table(terminal(23, false))), expected);
        let bare = Table { has_headings: false, ..table(terminal(3, false)) };
        assert_eq!(written(&bare), "a, b  7  ok\nx     -  bad\n");
    }

    #[test]
    fn colours_do_not_change_the_text() {
        for columns in [24, 23] {
            let coloured = written(&table(terminal(columns, true)));
            assert!(coloured.contains("\x1b[31m\x1b[1mbad\x1b[0m"), "{coloured:?}");
            assert!(coloured.starts_with("\x1b[1mTOPIC"), "{coloured:?}");
            let plain = console::strip_ansi_codes(&coloured).into_owned();
            assert_eq!(plain, written(&table(terminal(columns, false))));
        }
    }

    #[test]
    fn a_rate_has_no_trailing_zeros() {
        assert_eq!([2000.0, 0.5].map(|rate| plain(&Value::from(rate))), ["2000", "0.5"]);
    }
}
