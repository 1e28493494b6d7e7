//! JSON for terminals: a line per field, with coloured names.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::cli::terminal::Terminal;

/// Escape sequences to start and end bold text.
const NAME: [&[u8]; 2] = [b"\x1b[1m", b"\x1b[0m"];

/// Writes a document over several lines.
pub(crate) fn write_pretty(
    out: &mut dyn Write,
    document: &impl Serialize,
    terminal: Terminal,
) -> io::Result<()> {
    let plain = PrettyFormatter::new();
    if terminal.has_colours {
        document.serialize(&mut Serializer::with_formatter(&mut *out, Coloured(plain)))?;
    } else {
        document.serialize(&mut Serializer::with_formatter(&mut *out, plain))?;
    }
    writeln!(out)
}

/// The default formatter with coloured names.
struct Coloured(PrettyFormatter<'static>);

impl Formatter for Coloured {
    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)?;
        out.write_all(NAME[0])
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(NAME[1])?;
        self.0.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(has_colours: bool) -> String {
        let terminal = Terminal { columns: 80, lines: 24, has_colours, has_cursor: true };
        let mut out = Vec::new();
        write_pretty(&mut out, &json!({"a": [1, "b"], "c": {}}), terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_document_has_a_line_per_field() {
        let expected = "{\n  \"a\": [\n    1,\n    \"b\"\n  ],\n  \"c\": {}\n}\n";
        assert_eq!(written(false), expected);
    }

    #[test]
    fn only_names_are_coloured() {
        let coloured = written(true);
        assert!(coloured.contains("  \x1b[1m\"a\"\x1b[0m: ["), "{coloured:?}");
        let plain = console::strip_ansi_codes(&coloured).into_owned();
        assert_eq!(serde_json::from_str::<Value>(&plain).unwrap()["a"][1], "b");
        assert_eq!(plain, written(false));
    }
}
