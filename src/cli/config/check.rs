//! `streamlog config check FILE`: what a broker would make of each row of a configuration file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::broker::{BrokerConfig, Verdict};
use crate::cli::output::{Row, Rows};
use crate::cli::terminal::Tone;
use crate::cli::{CommandError, Exit, Output};

/// Says which settings of a file a broker honours, ignores and refuses, and why
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
    const TONES: &'static [(&'static str, &'static str, Tone)] =
        &[("verdict", "honoured", Tone::Good), ("verdict", "refused", Tone::Bad)];
}

impl Options {
    /// `Failed` when a broker would not start with the file.
    pub(super) fn answer(self, output: Output, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let rows = BrokerConfig::read_file(&self.file)?;
        let verdicts = BrokerConfig::judge(&rows);
        let is_refused = verdicts.iter().any(|verdict| matches!(verdict, Verdict::Refused(_)));
        let judged = rows.into_iter().zip(verdicts);
        Rows::new(output).write(out, judged.map(|(row, verdict)| VerdictRow::new(row, verdict)))?;
        Ok(if is_refused { Exit::Failed } else { Exit::Done })
    }
}

impl VerdictRow {
    fn new((key, value): (String, String), verdict: Verdict) -> Self {
        let (verdict, reason) = match verdict {
            Verdict::Honoured => ("honoured", None),
            Verdict::Ignored(reason) => ("ignored", Some(reason)),
            Verdict::Refused(reason) => ("refused", Some(reason)),
        };
        // Answers go to terminals and into the logs of whoever checks files on every change.
        let value = if is_secret(&key) { "[hidden]".to_owned() } else { value };
        Self { key, value, verdict, reason }
    }
}

/// Whether Kafka keeps the value of a setting from those who look at settings.
fn is_secret(key: &str) -> bool {
    ["password", "secret", "jaas.config", "keystore.key"].iter().any(|word| key.contains(word))
}
