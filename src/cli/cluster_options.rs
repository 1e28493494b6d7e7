//! Connecting to a cluster: by options, or else the environment, or else the contexts file.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, Command, FromArgMatches};

use crate::cli::context::{BOOTSTRAP_VARIABLE, Context, variable};
use crate::cli::names::Names;
use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, CtrlC, Exit, Output, answer_watching, missing, setting};
use crate::client::{Client, ClientSettings};
use crate::config::ConfigError;

/// The timeout of optional requests.
const PATIENCE: Duration = Duration::from_millis(500);

/// Options of every command that connects to a cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterOptions {
    /// Bootstrap brokers; else `STREAMLOG_BOOTSTRAP`, the context, or 127.0.0.1:9092
    #[arg(short, long, global = true, value_name = "HOST:PORT,...", help_heading = "Cluster")]
    bootstrap: Option<String>,
    /// Context from the contexts file, even with `STREAMLOG_BOOTSTRAP`; else `STREAMLOG_CONTEXT`
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster",
          add = Names::Contexts)]
    context: Option<String>,
    /// A client setting by Kafka's name; may be repeated
    #[arg(
        short = 'X',
        long = "set",
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Cluster"
    )]
    settings: Vec<String>,
    /// Output format
    #[arg(short, long, global = true, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Omit the header line in text and CSV
    #[arg(long, global = true)]
    no_headers: bool,
    /// The command's watch for Ctrl-C, set at the first use.
    #[arg(skip)]
    ctrl_c: OnceLock<&'static CtrlC>,
}

impl ClusterOptions {
    /// Parses an incomplete command line, for completion. `None` if its command does not connect to
    /// a cluster.
    pub(crate) fn so_far(command: Command, words: Vec<OsString>) -> Option<Self> {
        let matches = command.ignore_errors(true).try_get_matches_from(words).ok()?;
        let mut innermost = &matches;
        while let Some((_, matches)) = innermost.subcommand() {
            innermost = matches;
        }
        // clap panics if asked for an option that the command does not define.
        innermost.try_contains_id("bootstrap").ok()?;
        Self::from_arg_matches(innermost).ok()
    }

    /// Runs a command that writes to standard output. An error about a missing topic gets the most
    /// similar name as a suggestion.
    pub(crate) fn answer(
        &self,
        work: impl FnOnce(&mut dyn Write) -> Result<Exit, CommandError>,
    ) -> Exit {
        let admin = || self.connect_quickly().map(|client| client.admin());
        answer_watching(self.ctrl_c(), |out, _| {
            work(out).map_err(|error| missing::explained(error, admin))
        })
    }

    /// The writer for rows in the selected format.
    pub(crate) fn rows<R: Row>(&self) -> Rows<R> {
        let rows = Rows::new(self.output);
        if self.no_headers { rows.without_headings() } else { rows }
    }

    /// The command's watch for Ctrl-C.
    pub(crate) fn ctrl_c(&self) -> io::Result<&'static CtrlC> {
        if let Some(ctrl_c) = self.ctrl_c.get() {
            return Ok(ctrl_c);
        }
        let ctrl_c = CtrlC::watched()?;
        Ok(self.ctrl_c.get_or_init(|| ctrl_c))
    }

    /// Connects for an optional request, with a short timeout.
    pub(crate) fn connect_quickly(&self) -> Option<Client> {
        let mut settings = self.settings().ok()?;
        settings.client.timeout = PATIENCE;
        settings.client.connect_timeout = PATIENCE;
        Client::connect(settings.client).ok()
    }

    /// Combines the settings of the context, the environment and the options, in rising precedence.
    pub(crate) fn settings(&self) -> Result<ClientSettings, ConfigError> {
        let mut settings = ClientSettings::default();
        Context::read(self.context.as_deref())?.apply(&mut settings)?;
        // A context given on the command line overrides the environment.
        let variable = self.context.is_none().then(|| variable(BOOTSTRAP_VARIABLE)).flatten();
        if let Some(bootstrap) = self.bootstrap.as_deref().or(variable.as_deref()) {
            settings.set_all([("bootstrap.servers", bootstrap)])?;
        }
        for setting in &self.settings {
            let (key, value) = setting::pair(setting, "-X KEY=VALUE")?;
            setting::check_of_client(&key)?;
            settings.set_all([(key.as_str(), value.as_str())])?;
        }
        Ok(settings)
    }

    /// Connects to the cluster; also returns the settings of producers and consumers. Ctrl-C
    /// interrupts the client's waits.
    pub(crate) fn connect(&self) -> Result<(Client, ClientSettings), CommandError> {
        let mut settings = self.settings()?;
        settings.client.signals = Some(self.ctrl_c()?);
        Ok((Client::connect(settings.client.clone())?, settings))
    }
}
