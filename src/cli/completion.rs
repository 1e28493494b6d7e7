//! `streamlog completion SHELL`, and the names from the cluster that it completes.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::builder::ArgExt;
use clap::{Args, Command, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use crate::cli::{CommandError, Exit, Reach, answer};
use crate::client::{Admin, Client, ClientError};

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

/// What an argument names, for completing it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names {
    /// Topics of the cluster.
    Topics,
    /// Groups of the cluster.
    Groups,
}

impl ArgExt for Names {}

/// The command with the names of that cluster which is meant by what the shell hands over: the
/// command line so far, behind `--`.
pub(crate) fn with_names(command: Command, arguments: &[OsString]) -> Command {
    let so_far = arguments.iter().skip_while(|argument| *argument != "--").skip(1);
    match Reach::so_far(command.clone(), so_far) {
        Some(reach) => name_all(command, &reach),
        None => command,
    }
}

fn name_all(command: Command, reach: &Reach) -> Command {
    let command = command.mut_args(|argument| {
        let Some(names) = argument.get::<Names>().copied() else { return argument };
        let reach = reach.clone();
        argument.add(ArgValueCompleter::new(move |typed: &OsStr| names.of(&reach, typed)))
    });
    command.mut_subcommands(|command| name_all(command, reach))
}

impl Names {
    /// Those that begin with what was typed. What cannot be asked for is not completed: nobody
    /// reads errors between two key strokes.
    fn of(self, reach: &Reach, typed: &OsStr) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy();
        let found = client(reach).and_then(|client| self.list(&client.admin()).ok());
        let names = found.unwrap_or_default().into_iter();
        names
            .filter(|name| name.starts_with(typed.as_ref()))
            .map(CompletionCandidate::new)
            .collect()
    }

    fn list(self, admin: &Admin) -> Result<Vec<String>, ClientError> {
        Ok(match self {
            Self::Topics => {
                admin.topics()?.into_iter().map(|topic| topic.name.to_string()).collect()
            }
            Self::Groups => admin.groups()?.into_iter().map(|group| group.group).collect(),
        })
    }
}

/// A client that does not let a person wait.
fn client(reach: &Reach) -> Option<Client> {
    let mut settings = reach.settings().ok()?;
    settings.client.timeout = PATIENCE;
    settings.client.connect_timeout = PATIENCE;
    Client::connect(settings.client).ok()
}
