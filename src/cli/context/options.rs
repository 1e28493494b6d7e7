//! The subcommands of `streamlog context`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::context::file::ContextsFile;
use crate::cli::context::settings::{BOOTSTRAP_VARIABLE, VARIABLE, variable};
use crate::cli::names::Names;
use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, Exit, Output, answer, setting};
use crate::client::ClientSettings;
use crate::config::{ConfigError, nearest};

/// The setting that `context add` writes to every context.
const SERVERS: &str = "bootstrap.servers";

/// Manages named clusters, and selects the current one.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(Add),
    /// Selects the context for commands without --context
    Use {
        /// Name of the context
        #[arg(value_name = "NAME", required_unless_present = "none", add = Names::Contexts)]
        name: Option<String>,
        /// Select none: commands connect to 127.0.0.1:9092
        #[arg(long, conflicts_with = "name")]
        none: bool,
    },
    List(List),
    /// Removes a context from the file
    Remove {
        /// Name of the context
        #[arg(value_name = "NAME", add = Names::Contexts)]
        name: String,
    },
}

/// Adds a cluster under a name
#[derive(Debug, Args)]
struct Add {
    /// Name of the context: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    /// Bootstrap brokers of the cluster
    #[arg(value_name = "HOST:PORT,...")]
    servers: String,
    /// A client setting by Kafka's name; may be repeated
    #[arg(short = 'X', long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Also select it
    #[arg(long = "use")]
    is_chosen: bool,
    /// Confirm replacing a context with this name
    #[arg(long)]
    yes: bool,
}

/// Lists the contexts
#[derive(Debug, Args)]
struct List {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    /// Omit the header line in text and CSV
    #[arg(long)]
    no_headers: bool,
}

#[derive(Serialize)]
struct ContextRow {
    context: String,
    is_current: bool,
    servers: Option<String>,
    settings: BTreeMap<String, String>,
}

impl Row for ContextRow {
    const COLUMNS: &'static [&'static str] = &["context", "is_current", "servers"];
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        answer(|out, _| {
            let mut file = ContextsFile::read()?;
            match self.verb {
                Verb::Add(options) => options.run(&mut file),
                Verb::Use { name, .. } => choose(&mut file, name.as_deref()),
                Verb::List(options) => options.answer(&file, out),
                Verb::Remove { name } => {
                    check_found(&file, &name)?;
                    file.remove(&name);
                    Ok(file.save()?)
                }
            }?;
            Ok(Exit::Done)
        })
    }
}

impl Add {
    fn run(self, file: &mut ContextsFile) -> Result<(), CommandError> {
        let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(is_bare) {
            let reason = "the name of a context has letters, digits, - and _ alone";
            return Err(ConfigError::single(&format!("'{}'", self.name), reason).into());
        }
        let mut rows = vec![(SERVERS.to_owned(), self.servers)];
        for text in &self.settings {
            let (key, value) = setting::pair(text, "-X KEY=VALUE")?;
            setting::check_of_client(&key)?;
            rows.push((key, value));
        }
        let values = rows.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        ClientSettings::default().set_all(values)?;
        if file.names().contains(&self.name.as_str()) && !self.yes {
            let what = format!("this replaces context '{}' in {}", self.name, file.place());
            return Err(CommandError::Unconfirmed(what));
        }
        file.put(&self.name, &rows);
        if self.is_chosen {
            file.choose(Some(&self.name));
            tell_overrides();
        }
        Ok(file.save()?)
    }
}

impl List {
    fn answer(self, file: &ContextsFile, out: &mut dyn Write) -> Result<(), CommandError> {
        let chosen = variable(VARIABLE).or(file.current().map(ToOwned::to_owned));
        let row = |name: &str| {
            let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            let mut settings: BTreeMap<_, _> = file.settings(name).into_iter().map(own).collect();
            let servers = settings.remove(SERVERS);
            let is_current = chosen.as_deref() == Some(name);
            ContextRow { context: name.to_owned(), is_current, servers, settings }
        };
        let rows = Rows::new(self.output);
        let rows = if self.no_headers { rows.without_headings() } else { rows };
        rows.write(out, file.names().into_iter().map(row))
    }
}

fn choose(file: &mut ContextsFile, name: Option<&str>) -> Result<(), CommandError> {
    if let Some(name) = name {
        check_found(file, name)?;
        tell_overrides();
    }
    file.choose(name);
    Ok(file.save()?)
}

fn check_found(file: &ContextsFile, name: &str) -> Result<(), CommandError> {
    let names = file.names();
    if names.contains(&name) {
        return Ok(());
    }
    let nearest = nearest(name, names.into_iter()).map(ToOwned::to_owned);
    Err(CommandError::NotFound { kind: "context", name: name.to_owned(), nearest })
}

/// Warns about environment variables that override the current context.
fn tell_overrides() {
    for name in [BOOTSTRAP_VARIABLE, VARIABLE] {
        if variable(name).is_some() {
            let words = "is set in the environment and overrides the current context";
            let _ = writeln!(io::stderr().lock(), "streamlog: {name} {words}");
        }
    }
}
