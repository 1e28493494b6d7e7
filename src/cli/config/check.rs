//! `streamlog config check FILE`: what a broker would make of each row of a configuration file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::broker::BrokerConfig;
use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, Exit, Output};

/// Says which settings of a file a broker honours and which it refuses, and why
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Settings: TOML, or Kafka's form if it ends in .properties
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Serialize)]
struct VerdictRow {
    key: String,
    value: String,
    verdict: &'static str,
    reason: Option<String>,
}

impl Row for VerdictRow {
    const COLUMNS: &'static [&'static str] = &["key", "value", "verdict", "reason"];
}

impl Options {
    /// `Failed` when a broker would not start with the file.
    pub(super) fn answer(self, output: Output, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let mut rows = Rows::new(output);
        let mut exit = Exit::Done;
        for (key, value) in BrokerConfig::read_file(&self.file)? {
            let outcome = BrokerConfig::default().set([(key.as_str(), value.as_str())]);
            let reason = outcome.err().and_then(|error| error.faults.into_iter().next());
            let reason = reason.map(|fault| fault.reason);
            if reason.is_some() {
                exit = Exit::Failed;
            }
            let verdict = if reason.is_some() { "refused" } else { "honoured" };
            rows.push(out, &VerdictRow { key, value, verdict, reason })?;
        }
        rows.finish(out)?;
        Ok(exit)
    }
}
