//! `streamlog completion SHELL`, and the names from the cluster that it completes.

use std::ffi::OsStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::cli::context::{Context, variable};
use crate::cli::reach::BOOTSTRAP_VARIABLE;
use crate::cli::{CommandError, Exit, answer};
use crate::client::{Admin, Client, ClientError, ClientSettings};

/// How long a person waits for names before there are none.
const PATIENCE: Duration = Duration::from_millis(500);

/// The variable by which the shell asks for completions.
pub(crate) const VARIABLE: &str = "STREAMLOG_COMPLETE";

/// Prints what a shell needs to complete commands, topics and groups: `source <(streamlog
/// completion bash)`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Options {
    /// Answers on standard output.
    pub(crate) fn run(self) -> Exit {
        let completer: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &Bash,
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
        };
        answer(|out| {
            let mut script = Vec::new();
            completer.write_registration(
                VARIABLE,
                "streamlog",
                "streamlog",
                "streamlog",
                &mut script,
            )?;
            out.write_all(&script).map_err(CommandError::from)?;
            Ok(Exit::Done)
        })
    }
}

/// Topics that begin with what was typed.
pub(crate) fn topic_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    names(typed, |admin| {
        Ok(admin.topics()?.into_iter().map(|topic| topic.name.to_string()).collect())
    })
}

/// Groups that begin with what was typed.
pub(crate) fn group_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    names(typed, |admin| Ok(admin.groups()?.into_iter().map(|group| group.group).collect()))
}

/// What cannot be asked for is not completed: nobody reads errors between two key strokes.
fn names(
    typed: &OsStr,
    list: impl FnOnce(&Admin) -> Result<Vec<String>, ClientError>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let found = client().and_then(|client| list(&client.admin()).ok()).unwrap_or_default();
    let candidates = found.into_iter().filter(|name| name.starts_with(typed.as_ref()));
    candidates.map(CompletionCandidate::new).collect()
}

/// A client by the environment and the contexts file: options are not known here.
fn client() -> Option<Client> {
    let mut settings = ClientSettings::default();
    Context::read(None).ok()?.apply(&mut settings).ok()?;
    if let Some(bootstrap) = variable(BOOTSTRAP_VARIABLE) {
        settings.set_all([("bootstrap.servers", bootstrap.as_str())]).ok()?;
    }
    settings.client.timeout = PATIENCE;
    settings.client.connect_timeout = PATIENCE;
    Client::connect(settings.client).ok()
}
