//! `streamlog config show`: settings, their values and sources.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::config::resource::Named;
use crate::cli::output::Row;
use crate::cli::{ClusterOptions, CommandError, Exit};
use crate::client::{ConfigEntry, ConfigSource};

/// Shows the settings of a topic or a broker that differ from the default
#[derive(Debug, Args)]
pub(super) struct Options {
    /// topic/NAME, node/NUMBER or nodes
    resource: Named,
    /// Also show settings with their default value
    #[arg(short, long)]
    all: bool,
}

#[derive(Serialize)]
struct ConfigRow {
    name: String,
    value: Option<String>,
    source: &'static str,
    is_read_only: bool,
    about: Option<String>,
}

impl Row for ConfigRow {
    const COLUMNS: &'static [&'static str] = &["name", "value", "source"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let admin = cluster.connect()?.0.admin();
        let entries = admin.configs(&self.resource.find(&admin)?)?;
        let shown = entries.into_iter().filter(|entry| {
            self.all || !matches!(entry.source, ConfigSource::Default | ConfigSource::Unknown)
        });
        let row = |entry: ConfigEntry| ConfigRow {
            name: entry.name,
            value: entry.value,
            source: entry.source.name(),
            is_read_only: entry.is_read_only,
            about: entry.documentation,
        };
        cluster.rows().write(out, shown.map(row))?;
        Ok(Exit::Done)
    }
}
