//! How commands reach a cluster: options, then the environment, then the contexts file.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, Command, FromArgMatches};

use crate::cli::context::{BOOTSTRAP_VARIABLE, Context, variable};
use crate::cli::names::Names;
use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, CtrlC, Exit, Output, answer_until, missing, setting};
use crate::client::{Client, ClientSettings};
use crate::config::ConfigError;

/// How long a person waits for what is only nice to know.
const PATIENCE: Duration = Duration::from_millis(500);

/// What every command that asks a cluster takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Reach {
    /// Brokers to ask first; else `STREAMLOG_BOOTSTRAP`, the context, or 127.0.0.1:9092
    #[arg(short, long, global = true, value_name = "HOST:PORT,...", help_heading = "Cluster")]
    bootstrap: Option<String>,
    /// Context of the contexts file, even with `STREAMLOG_BOOTSTRAP`; else `STREAMLOG_CONTEXT`
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster",
          add = Names::Contexts)]
    context: Option<String>,
    /// One setting of the client, under Kafka's name
    #[arg(
        short = 'X',
        long = "set",
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Cluster"
    )]
    settings: Vec<String>,
    /// Form of the answer
    #[arg(short, long, global = true, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Without the line of headings, as text or CSV
    #[arg(long, global = true)]
    no_headers: bool,
    /// Set when it is first asked for.
    #[arg(skip)]
    ctrl_c: OnceLock<&'static CtrlC>,
}

impl Reach {
    /// What a command line says that need not be complete, nor right. `None` where it asks no
    /// cluster.
    pub(crate) fn so_far(command: Command, words: Vec<OsString>) -> Option<Self> {
        let matches = command.ignore_errors(true).try_get_matches_from(words).ok()?;
        let mut innermost = &matches;
        while let Some((_, matches)) = innermost.subcommand() {
            innermost = matches;
        }
        // Where no option of these is known, clap takes the question for a mistake in the program.
        innermost.try_contains_id("bootstrap").ok()?;
        Self::from_arg_matches(innermost).ok()
    }

    /// Answers on standard output. A name that the cluster does not have is told with the nearest.
    pub(crate) fn answer(
        &self,
        work: impl FnOnce(&mut dyn Write) -> Result<Exit, CommandError>,
    ) -> Exit {
        let admin = || self.connect_quickly().map(|client| client.admin());
        answer_until(self.ctrl_c(), |out, _| {
            work(out).map_err(|error| missing::explained(error, admin))
        })
    }

    /// The rows of an answer in the form that was asked for.
    pub(crate) fn rows<R: Row>(&self) -> Rows<R> {
        let rows = Rows::new(self.output);
        if self.no_headers { rows.without_headings() } else { rows }
    }

    /// The watch for Ctrl-C of the command.
    pub(crate) fn ctrl_c(&self) -> io::Result<&'static CtrlC> {
        if let Some(ctrl_c) = self.ctrl_c.get() {
            return Ok(ctrl_c);
        }
        let ctrl_c = CtrlC::watched()?;
        Ok(self.ctrl_c.get_or_init(|| ctrl_c))
    }

    /// A client for what is nice to know: it does not let a person wait.
    pub(crate) fn connect_quickly(&self) -> Option<Client> {
        let mut settings = self.settings().ok()?;
        settings.client.timeout = PATIENCE;
        settings.client.connect_timeout = PATIENCE;
        Client::connect(settings.client).ok()
    }

    /// The settings: those of the context, over them the environment, over them the options.
    pub(crate) fn settings(&self) -> Result<ClientSettings, ConfigError> {
        let mut settings = ClientSettings::default();
        Context::read(self.context.as_deref())?.apply(&mut settings)?;
        // A context that was named on the command line wins over the environment.
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

    /// A client of the cluster, and the settings for what is made from it. Ctrl-C ends its waits.
    pub(crate) fn connect(&self) -> Result<(Client, ClientSettings), CommandError> {
        let mut settings = self.settings()?;
        settings.client.signals = Some(self.ctrl_c()?);
        Ok((Client::connect(settings.client.clone())?, settings))
    }
}
