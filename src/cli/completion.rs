//! `streamlog completion SHELL`, and completion of names: of topics and groups from the cluster, of
//! contexts from the contexts file.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use clap::{Args, Command, ValueEnum};
use clap_complete::engine::complete;
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use crate::cli::context::{ContextsFile, variable};
use crate::cli::names::Names;
use crate::cli::{ClusterOptions, CommandError, Exit, answer};
use crate::client::{Admin, ClientError};
use crate::config::ConfigError;

/// The environment variable by which the shell requests completions.
pub(crate) const VARIABLE: &str = "STREAMLOG_COMPLETE";

/// Prints a completion script for commands, topics and groups: `source <(streamlog completion
/// bash)`.
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
    /// Runs the command.
    pub(crate) fn run(self) -> Exit {
        let completer: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &Bash,
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
        };
        answer(|out, _| {
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

/// The supported shells.
pub(crate) const SHELLS: Shells<'static> = Shells(&[&WholeBash, &Fish, &Zsh]);

/// Bash with whole words. Bash itself splits words at `:` and `=`, which addresses and settings
/// contain.
struct WholeBash;

impl EnvCompleter for WholeBash {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        Bash.write_registration(variable, name, bin, completer, out)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        parts: Vec<OsString>,
        current_dir: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let index = variable("_CLAP_COMPLETE_INDEX").and_then(|index| index.parse().ok());
        let Whole { words, index, begun } = Whole::of(parts, index.unwrap_or_default());
        let separator = variable("_CLAP_IFS").unwrap_or_else(|| "\n".to_owned());
        let found = complete(command, words, index, current_dir)?;
        let values = found.iter().map(|candidate| candidate.get_value().to_string_lossy());
        // Bash replaces only the last part of the word.
        let values: Vec<String> =
            values.map(|value| value.strip_prefix(&begun).unwrap_or(&value).to_owned()).collect();
        write!(out, "{}", values.join(&separator))
    }
}

/// A command line put together from the parts that the shell made of it.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    words: Vec<OsString>,
    /// The index of the word being completed.
    index: usize,
    /// The beginning of that word, before the part being completed.
    begun: String,
}

impl Whole {
    /// Joins `parts` into words; the part at `index` is being completed.
    fn of(parts: Vec<OsString>, index: usize) -> Self {
        let is_break = |part: &OsStr| {
            let part = part.as_encoded_bytes();
            !part.is_empty() && part.iter().all(|byte| b":=".contains(byte))
        };
        let mut whole = Self { words: Vec::new(), index: 0, begun: String::new() };
        let mut was_break = false;
        for (at, part) in parts.into_iter().enumerate() {
            let belongs = was_break || is_break(&part);
            was_break = is_break(&part);
            let last = whole.words.last_mut().filter(|_| belongs);
            if at == index {
                let begun = last.as_ref().map(|last| last.to_string_lossy().into_owned());
                whole.begun = begun.unwrap_or_default();
            }
            match last {
                Some(last) => last.push(part),
                None => whole.words.push(part),
            }
            if at == index {
                whole.index = whole.words.len() - 1;
            }
        }
        whole
    }
}

/// Adds completion of names. The command line so far, which follows `--` in `arguments`, selects
/// the cluster.
pub(crate) fn with_names(command: Command, arguments: &[OsString]) -> Command {
    let so_far = arguments.iter().skip_while(|argument| *argument != "--").skip(1).cloned();
    let cluster = ClusterOptions::so_far(command.clone(), Whole::of(so_far.collect(), 0).words);
    name_all(command, cluster.as_ref())
}

fn name_all(command: Command, cluster: Option<&ClusterOptions>) -> Command {
    let command = command.mut_args(|argument| {
        let Some(names) = argument.get::<Names>().copied() else { return argument };
        let cluster = cluster.cloned();
        argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
            candidates(names, cluster.as_ref(), typed)
        }))
    });
    command.mut_subcommands(|command| name_all(command, cluster))
}

/// The names of this kind that start with `typed`. On an error there are no completions: a message
/// would only disturb the input line.
fn candidates(
    kind: Names,
    cluster: Option<&ClusterOptions>,
    typed: &OsStr,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let admin = || Some(cluster?.connect_quickly()?.admin());
    let found = match kind {
        Names::Topics => admin().and_then(|admin| topics(&admin).ok()),
        Names::Groups => admin().and_then(|admin| groups(&admin).ok()),
        Names::Contexts => contexts().ok(),
    };
    let names = found.unwrap_or_default().into_iter();
    names.filter(|name| name.starts_with(typed.as_ref())).map(CompletionCandidate::new).collect()
}

fn topics(admin: &Admin) -> Result<Vec<String>, ClientError> {
    Ok(admin.topics()?.into_iter().map(|topic| topic.name.to_string()).collect())
}

fn groups(admin: &Admin) -> Result<Vec<String>, ClientError> {
    Ok(admin.groups()?.into_iter().map(|group| group.group).collect())
}

fn contexts() -> Result<Vec<String>, ConfigError> {
    Ok(ContextsFile::read()?.names().into_iter().map(ToOwned::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(parts: &[&str], index: usize) -> (Vec<String>, usize, String) {
        let Whole { words, index, begun } =
            Whole::of(parts.iter().map(OsString::from).collect(), index);
        let words = words.into_iter().map(|word| word.into_string().unwrap()).collect();
        (words, index, begun)
    }

    #[test]
    fn words_split_by_bash_are_joined() {
        let parts = ["s", "-b", "a", ":", "1,b", ":", "2", "--context", "=", "x", "o"];
        let words = ["s", "-b", "a:1,b:2", "--context=x", "o"].map(str::to_owned).to_vec();
        assert_eq!(whole(&parts, 10), (words.clone(), 4, String::new()));
        assert_eq!(whole(&parts, 9), (words.clone(), 3, "--context=".to_owned()));
        assert_eq!(whole(&parts, 4), (words, 2, "a:".to_owned()));
    }

    #[test]
    fn other_words_are_unchanged() {
        let words = ["s", "", "a=b:1", ""].map(str::to_owned).to_vec();
        assert_eq!(whole(&["s", "", "a=b:1", ""], 3), (words, 3, String::new()));
    }
}
