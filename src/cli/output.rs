//! The forms in which a command answers: the same rows for people, programs and spreadsheets.
//!
//! The fields of a row are its schema in every form. JSON is one object per line; YAML is a list;
//! CSV and text have a line of headings and show the columns that the row names, but where there is
//! never more than one row, text has a line for each field. An answer without rows is an empty list
//! in YAML, the headings in CSV, and nothing otherwise.

use std::io::{self, Write};
use std::marker::PhantomData;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::cli::CommandError;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// A YAML list.
    Yaml,
    /// Comma-separated values under a line of headings.
    Csv,
}

/// One row of an answer.
pub(crate) trait Row: Serialize {
    /// The fields that text and CSV show, in order.
    const COLUMNS: &'static [&'static str];
    /// Those of them that text leaves out, so that a line fits into 80 columns.
    const WIDE: &'static [&'static str] = &[];
    /// Headings of text that are shorter than the names of their fields.
    const SHORT: &'static [(&'static str, &'static str)] = &[];
}

/// Writes rows in one form. Text is held back until the end, since columns are aligned.
pub(crate) struct Rows<R> {
    output: Output,
    has_headings: bool,
    is_begun: bool,
    table: Vec<Vec<Value>>,
    kind: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    /// No rows yet.
    pub(crate) fn new(output: Output) -> Self {
        let table = Vec::new();
        Self { output, has_headings: true, is_begun: false, table, kind: PhantomData }
    }

    /// The same without a line of headings.
    pub(crate) fn without_headings(self) -> Self {
        Self { has_headings: false, ..self }
    }

    /// The next row, written by one call, so that Ctrl-C does not part it.
    pub(crate) fn push(&mut self, out: &mut dyn Write, row: &R) -> Result<(), CommandError> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if is_first && self.has_headings && self.output == Output::Csv {
            write_headings::<R>(out)?;
        }
        let mut written = Vec::new();
        match self.output {
            Output::Json => write_json(&mut written, row)?,
            // A list of one, so that the lists of all rows make one list.
            Output::Yaml => written = serde_norway::to_string(&[row])?.into_bytes(),
            Output::Csv => {
                let mut line = csv::Writer::from_writer(&mut written);
                line.write_record(cells(row, R::COLUMNS)?.iter().map(plain))?;
                line.flush()?;
            }
            Output::Text => self.table.push(cells(row, &text_columns::<R>())?),
        }
        Ok(out.write_all(&written)?)
    }

    /// All rows of an answer.
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

    /// The only row there can be. Text has a field in a line, for all in one are too wide to read.
    pub(crate) fn write_one(self, out: &mut dyn Write, row: R) -> Result<(), CommandError> {
        match self.output {
            Output::Text => {
                let cells = cells(&row, &text_columns::<R>())?;
                Ok(write_fields(out, &headings::<R>(), &cells)?)
            }
            _ => self.write(out, [row]),
        }
    }

    /// Ends the answer.
    pub(crate) fn finish(self, out: &mut dyn Write) -> Result<(), CommandError> {
        match self.output {
            Output::Text if !self.table.is_empty() => {
                write_table(out, &headings::<R>(), &self.table, self.has_headings)?;
            }
            Output::Csv if !self.is_begun && self.has_headings => write_headings::<R>(out)?,
            Output::Yaml if !self.is_begun => writeln!(out, "[]")?,
            _ => {}
        }
        Ok(())
    }
}

/// The fields that text shows.
fn text_columns<R: Row>() -> Vec<&'static str> {
    R::COLUMNS.iter().copied().filter(|name| !R::WIDE.contains(name)).collect()
}

/// Their names as people read them.
fn headings<R: Row>() -> Vec<String> {
    let heading = |name: &str| match R::SHORT.iter().find(|(field, _)| *field == name) {
        Some((_, short)) => (*short).to_owned(),
        None => name.to_uppercase().replace('_', " "),
    };
    text_columns::<R>().into_iter().map(heading).collect()
}

/// The line of headings.
fn write_headings<R: Row>(out: &mut dyn Write) -> Result<(), CommandError> {
    let mut line = csv::Writer::from_writer(out);
    line.write_record(R::COLUMNS)?;
    Ok(line.flush()?)
}

/// The values of these columns of a row.
fn cells<R: Row>(row: &R, columns: &[&str]) -> Result<Vec<Value>, CommandError> {
    let mut value = serde_json::to_value(row)?;
    let mut take = |name: &&str| value.get_mut(*name).map(Value::take).unwrap_or_default();
    Ok(columns.iter().map(&mut take).collect())
}

/// A value without quotes; nothing for null, a plain list by its items, what is nested as JSON.
fn plain(value: &Value) -> String {
    let is_plain = |item: &Value| !item.is_array() && !item.is_object();
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(is_plain) => {
            items.iter().map(plain).collect::<Vec<_>>().join(",")
        }
        // A whole number is written as one, even where it might have been none.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// A cell as people read it.
fn shown(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { plain(value) }
}

/// Each field under the one before, the values aligned.
fn write_fields(out: &mut dyn Write, headings: &[String], row: &[Value]) -> io::Result<()> {
    let width = headings.iter().map(String::len).max().unwrap_or(0);
    let mut fields = headings.iter().zip(row);
    fields.try_for_each(|(name, value)| writeln!(out, "{name:<width$}  {}", shown(value)))
}

/// Aligned columns: numbers to the right, the rest to the left.
fn write_table(
    out: &mut dyn Write,
    headings: &[String],
    rows: &[Vec<Value>],
    has_headings: bool,
) -> io::Result<()> {
    let lines: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>()).collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        let heading = has_headings.then(|| headings[column].chars().count());
        cells.chain(heading).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let is_numeric = |column: usize| {
        let mut known =
            rows.iter().map(|row| &row[column]).filter(|cell| !cell.is_null()).peekable();
        known.peek().is_some() && known.all(Value::is_number)
    };
    let numeric: Vec<bool> = (0..headings.len()).map(is_numeric).collect();
    let first = has_headings.then_some(headings);
    for line in first.into_iter().chain(lines.iter().map(Vec::as_slice)) {
        let mut text = String::new();
        for ((cell, width), is_numeric) in line.iter().zip(&widths).zip(&numeric) {
            let aligned =
                if *is_numeric { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
            text.push_str(&aligned);
        }
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Writes one line of JSON.
pub(crate) fn write_json(out: &mut dyn Write, row: &impl Serialize) -> io::Result<()> {
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
        Rows::new(output).write(&mut out, [row("a, b", Some(7)), row("x", None)]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_aligned_under_headings() {
        let expected = "TOPIC  PARTITION  REPLICAS\na, b           7  1,2\nx              -  1,2\n";
        assert_eq!(written(Output::Text), expected);
    }

    #[test]
    fn a_column_without_a_value_is_on_the_left() {
        let mut out = Vec::new();
        let row = Sample { topic: "x", partition: None, replicas: vec![] };
        Rows::new(Output::Text).write(&mut out, [row]).unwrap();
        let expected = "TOPIC  PARTITION  REPLICAS\nx      -\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn without_headings_there_are_rows_alone() {
        let row = || Sample { topic: "x", partition: Some(7), replicas: vec![1, 2] };
        let written = [Output::Text, Output::Csv].map(|output| {
            let mut out = Vec::new();
            Rows::new(output).without_headings().write(&mut out, [row()]).unwrap();
            String::from_utf8(out).unwrap()
        });
        assert_eq!(written, ["x  7  1,2\n", "x,7,\"1,2\"\n"]);
    }

    #[test]
    fn a_rate_has_no_idle_digits() {
        assert_eq!([2000.0, 0.5].map(|rate| plain(&Value::from(rate))), ["2000", "0.5"]);
    }

    #[test]
    fn the_only_row_has_a_field_in_a_line() {
        let mut out = Vec::new();
        let row = Sample { topic: "x", partition: None, replicas: vec![1, 2] };
        Rows::new(Output::Text).write_one(&mut out, row).unwrap();
        let expected = "TOPIC      x\nPARTITION  -\nREPLICAS   1,2\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn csv_quotes_what_has_a_comma() {
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
    fn an_answer_without_rows_is_still_an_answer() {
        let forms = [Output::Text, Output::Json, Output::Yaml, Output::Csv];
        let empty = forms.map(|output| {
            let mut out = Vec::new();
            Rows::<Sample>::new(output).write(&mut out, []).unwrap();
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
