//! `streamlog config check FILE`: a broker's verdict on each setting in a configuration file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::broker::{BrokerConfig, Verdict};
use crate::cli::output::{Row, Rows};
use crate::cli::terminal::Tone;
use crate::cli::{CommandError, Exit, Output};

/// Reports which settings of a file a broker honours, ignores and refuses, and why
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Configuration file: TOML, or Kafka's format if the name ends in .properties
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
    /// Returns `Failed` if a broker would not start with the file.
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
        // Never print secrets: results end up on screens and in logs of automated checks.
        let value = if is_secret(&key) { "[hidden]".to_owned() } else { value };
        Self { key, value, verdict, reason }
    }
}

/// Returns true if the name of this setting suggests a secret.
fn is_secret(key: &str) -> bool {
    ["password", "secret", "jaas.config", "keystore.key"].iter().any(|word| key.contains(word))
}
