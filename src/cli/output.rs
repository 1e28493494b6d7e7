//! Output formats: the same rows for people, programs and spreadsheets.
//!
//! A field has the same name and value in every format, except that text may shorten its heading.
//! JSON is an object per line, and YAML a list; both contain all fields of a row. CSV and text have
//! a header line and show the columns that the row type selects; commands with a single row show a
//! line per field in text. An empty result is an empty list in YAML, a header in CSV, and nothing
//! otherwise. On a terminal, JSON objects are spread over lines, and text is coloured and shows a
//! line per field if the columns do not fit.

use std::io::{self, Write};
use std::marker::PhantomData;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::cli::CommandError;
use crate::cli::pretty::write_pretty;
use crate::cli::table::{Table, plain};
use crate::cli::terminal::{Terminal, Tone};

/// Output format
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Text for people
    #[default]
    Text,
    /// One JSON object per line
    Json,
    /// A YAML list
    Yaml,
    /// Comma-separated values with a header line
    Csv,
}

/// A row of a result.
pub(crate) trait Row: Serialize {
    /// The fields shown in text and CSV, in order.
    const COLUMNS: &'static [&'static str];
    /// The fields in `COLUMNS` that text omits, so that a line fits into 80 columns.
    const WIDE: &'static [&'static str] = &[];
    /// Shorter headings for text than the fields' names.
    const SHORT: &'static [(&'static str, &'static str)] = &[];
    /// Values of fields that are coloured on a terminal.
    const TONES: &'static [(&'static str, &'static str, Tone)] = &[];
}

/// A writer of rows in one format. Text is buffered until the end, because its columns are aligned.
pub(crate) struct Rows<R> {
    output: Output,
    has_headings: bool,
    is_begun: bool,
    cells: Vec<Vec<Value>>,
    terminal: Option<Terminal>,
    kind: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    /// A writer to standard output.
    pub(crate) fn new(output: Output) -> Self {
        Self::on(Terminal::of_stdout(), output)
    }

    /// A writer to a terminal, or to a file or pipe.
    fn on(terminal: Option<Terminal>, output: Output) -> Self {
        let (cells, kind) = (Vec::new(), PhantomData);
        Self { output, has_headings: true, is_begun: false, cells, terminal, kind }
    }

    /// Omits the header line.
    pub(crate) fn without_headings(self) -> Self {
        Self { has_headings: false, ..self }
    }

    /// Writes a row by a single call, so that Ctrl-C does not split it.
    pub(crate) fn push(&mut self, out: &mut dyn Write, row: &R) -> Result<(), CommandError> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if is_first && self.has_headings && self.output == Output::Csv {
            write_headings::<R>(out)?;
        }
        let mut written = Vec::new();
        match self.output {
            Output::Json => match self.terminal {
                Some(terminal) => write_pretty(&mut written, row, terminal)?,
                None => write_json(&mut written, row)?,
            },
            // Lists of one item each, written one after another, form a single YAML list.
            Output::Yaml => written = serde_norway::to_string(&[row])?.into_bytes(),
            Output::Csv => {
                let mut line = csv::Writer::from_writer(&mut written);
                line.write_record(cells(row, R::COLUMNS)?.iter().map(plain))?;
                line.flush()?;
            }
            Output::Text => self.cells.push(cells(row, &text_columns::<R>())?),
        }
        Ok(out.write_all(&written)?)
    }

    /// Writes all rows of a result.
    pub(crate) fn write(
        mut self,
        out: &mut dyn Write,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(), CommandError> {
        for row in rows {
            self.push(out, &row)?;
        }
        self.finish(out)
    }

    /// Writes the only row of a result. Text has a line per field, since all fields on one line
    /// would be too wide.
    pub(crate) fn write_one(self, out: &mut dyn Write, row: R) -> Result<(), CommandError> {
        match self.output {
            Output::Text => {
                let cells = cells(&row, &text_columns::<R>())?;
                Ok(table::<R>(self.terminal, true).write_fields(out, &cells)?)
            }
            _ => self.write(out, [row]),
        }
    }

    /// Ends the result.
    pub(crate) fn finish(self, out: &mut dyn Write) -> Result<(), CommandError> {
        match self.output {
            Output::Text if !self.cells.is_empty() => {
                table::<R>(self.terminal, self.has_headings).write(out, &self.cells)?;
            }
            Output::Csv if !self.is_begun && self.has_headings => write_headings::<R>(out)?,
            Output::Yaml if !self.is_begun => writeln!(out, "[]")?,
            _ => {}
        }
        Ok(())
    }
}

/// The fields shown in text.
fn text_columns<R: Row>() -> Vec<&'static str> {
    R::COLUMNS.iter().copied().filter(|name| !R::WIDE.contains(name)).collect()
}

/// The text table of these rows.
fn table<R: Row>(terminal: Option<Terminal>, has_headings: bool) -> Table {
    let heading = |name: &&str| match R::SHORT.iter().find(|(field, _)| field == name) {
        Some((_, short)) => (*short).to_owned(),
        None => name.to_uppercase().replace('_', " "),
    };
    let columns = text_columns::<R>();
    let place = |name: &str| columns.iter().position(|column| *column == name);
    let tones = R::TONES.iter().filter_map(|(name, text, tone)| Some((place(name)?, *text, *tone)));
    let tones = tones.collect();
    Table { headings: columns.iter().map(heading).collect(), has_headings, tones, terminal }
}

/// Writes the CSV header.
fn write_headings<R: Row>(out: &mut dyn Write) -> Result<(), CommandError> {
    let mut line = csv::Writer::from_writer(out);
    line.write_record(R::COLUMNS)?;
    Ok(line.flush()?)
}

/// The values of some columns of a row.
fn cells<R: Row>(row: &R, columns: &[&str]) -> Result<Vec<Value>, CommandError> {
    let mut value = serde_json::to_value(row)?;
    let mut take = |name: &&str| value.get_mut(*name).map(Value::take).unwrap_or_default();
    Ok(columns.iter().map(&mut take).collect())
}

/// Writes a line of JSON.
fn write_json(out: &mut dyn Write, row: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample {
        topic: &'static str,
        partition: Option<i32>,
        replicas: Vec<i32>,
    }

    impl Row for Sample {
        const COLUMNS: &'static [&'static str] = &["topic", "partition", "replicas"];
    }

    fn written(output: Output) -> String {
        let mut out = Vec::new();
        let row = |topic, partition| Sample { topic, partition, replicas: vec![1, 2] };
        Rows::on(None, output).write(&mut out, [row("a, b", Some(7)), row("x", None)]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_aligned_under_headings() {
        let expected = "TOPIC  PARTITION  REPLICAS\na, b           7  1,2\nx              -  1,2\n";
        assert_eq!(written(Output::Text), expected);
    }

    #[test]
    fn a_column_without_values_is_aligned_left() {
        let mut out = Vec::new();
        let row = Sample { topic: "x", partition: None, replicas: vec![] };
        Rows::on(None, Output::Text).write(&mut out, [row]).unwrap();
        let expected = "TOPIC  PARTITION  REPLICAS\nx      -\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn headings_can_be_omitted() {
        let row = || Sample { topic: "x", partition: Some(7), replicas: vec![1, 2] };
        let written = [Output::Text, Output::Csv].map(|output| {
            let mut out = Vec::new();
            Rows::on(None, output).without_headings().write(&mut out, [row()]).unwrap();
            String::from_utf8(out).unwrap()
        });
        assert_eq!(written, ["x  7  1,2\n", "x,7,\"1,2\"\n"]);
    }

    #[test]
    fn a_single_row_has_a_line_per_field() {
        let mut out = Vec::new();
        let row = Sample { topic: "x", partition: None, replicas: vec![1, 2] };
        Rows::on(None, Output::Text).write_one(&mut out, row).unwrap();
        let expected = "TOPIC      x\nPARTITION  -\nREPLICAS   1,2\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn csv_quotes_values_with_a_comma() {
        let expected = "topic,partition,replicas\n\"a, b\",7,\"1,2\"\nx,,\"1,2\"\n";
        assert_eq!(written(Output::Csv), expected);
    }

    #[test]
    fn json_is_one_object_per_line() {
        let text = written(Output::Json);
        let rows: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[1]["partition"], Value::Null);
        assert_eq!(rows[0]["replicas"][1], 2);
    }

    #[test]
    fn json_on_a_terminal_has_a_line_per_field() {
        let terminal = Terminal { columns: 80, lines: 24, has_colours: false, has_cursor: true };
        let row = Sample { topic: "x", partition: None, replicas: vec![] };
        let mut out = Vec::new();
        Rows::on(Some(terminal), Output::Json).write(&mut out, [row]).unwrap();
        let expected = "{\n  \"topic\": \"x\",\n  \"partition\": null,\n  \"replicas\": []\n}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn an_empty_result_is_valid_in_every_format() {
        let forms = [Output::Text, Output::Json, Output::Yaml, Output::Csv];
        let empty = forms.map(|output| {
            let mut out = Vec::new();
            Rows::<Sample>::on(None, output).write(&mut out, []).unwrap();
            String::from_utf8(out).unwrap()
        });
        assert_eq!(empty, ["", "", "[]\n", "topic,partition,replicas\n"]);
    }

    #[test]
    fn yaml_is_one_list() {
        let rows: Vec<serde_json::Value> = serde_norway::from_str(&written(Output::Yaml)).unwrap();
        assert_eq!((rows.len(), &rows[0]["topic"]), (2, &Value::from("a, b")));
    }
}
