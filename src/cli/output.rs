//! The forms in which a command answers.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Writes one line of JSON.
pub(crate) fn write_json(out: &mut dyn Write, row: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    writeln!(out)
}
