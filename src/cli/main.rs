//! The entry point: parses the arguments and runs the command.
//!
//! To add a noun, write a file with its options (`clap::Args`) and a `run` method, and add a
//! variant to [`Noun`] and a line to [`Noun::run`].

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;

use crate::cli::program::NAME;
use crate::cli::records::{consume, produce, tail};
use crate::cli::{
    Exit, Program, bench, broker, cluster, completion, config, context, group, log, node,
    partition, pipeline, topic,
};

/// A durable, partitioned log that speaks Kafka's wire protocol.
#[derive(Debug, Parser)]
#[command(name = NAME, version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Debug, Subcommand)]
enum Noun {
    Broker(broker::Options),
    Topic(topic::Options),
    Partition(partition::Options),
    Produce(produce::Options),
    Consume(consume::Options),
    Tail(tail::Options),
    Group(group::Options),
    Node(node::Options),
    Cluster(cluster::Options),
    Config(config::Options),
    Context(context::Options),
    Log(log::Options),
    Bench(bench::Options),
    Pipeline(pipeline::Options),
    Completion(completion::Options),
    #[command(hide = true)]
    /// Ends the session of the broker that has started it, once that broker has ended.
    Guard,
}

impl Noun {
    fn run(self, program: &Program) -> Exit {
        match self {
            Self::Broker(options) => options.run(program),
            Self::Topic(options) => options.run(),
            Self::Partition(options) => options.run(),
            Self::Produce(options) => options.run(),
            Self::Consume(options) => options.run(),
            Self::Tail(options) => options.run(),
            Self::Group(options) => options.run(),
            Self::Node(options) => options.run(),
            Self::Cluster(options) => options.run(),
            Self::Config(options) => options.run(),
            Self::Context(options) => options.run(),
            Self::Log(options) => options.run(),
            Self::Bench(options) => options.run(),
            Self::Pipeline(options) => options.run(),
            Self::Completion(options) => options.run(),
            Self::Guard => broker::guard(),
        }
    }
}

/// Runs a command; `arguments` exclude the program's name.
///
/// Help and version go to standard output; a wrong command line is explained on standard error.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    main_of(&Program::this(), arguments)
}

/// Like [`main`], for a program that is not this process's executable.
pub fn main_of(program: &Program, arguments: impl IntoIterator<Item = OsString>) -> Exit {
    // Usage lines always show the same name, however the program was started.
    let arguments: Vec<OsString> = std::iter::once(OsString::from(NAME)).chain(arguments).collect();
    let completable = || completion::with_names(Cli::command(), &arguments);
    let completing = CompleteEnv::with_factory(completable).var(completion::VARIABLE);
    let completing = completing.shells(completion::SHELLS);
    let here = std::env::current_dir().ok();
    if let Ok(true) = completing.try_complete(arguments.iter().cloned(), here.as_deref()) {
        // If an interpreter hosts the command, nothing flushes standard output at exit, and the
        // candidates do not end in a newline, which would flush it.
        let _ = io::stdout().flush();
        return Exit::Done;
    }
    match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.noun.run(program),
        Err(error) => {
            // If the terminal or pipe is closed, the message is lost.
            let _ = error.print();
            if error.exit_code() == 0 { Exit::Done } else { Exit::Usage }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Exit {
        main(arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn version_and_help_are_not_failures() {
        assert_eq!(run(&["--version"]), Exit::Done);
        assert_eq!(run(&["--help"]), Exit::Done);
    }

    #[test]
    fn usage_errors_have_their_own_exit_code() {
        assert_eq!(run(&[]), Exit::Usage);
        assert_eq!(run(&["--no-such-option"]), Exit::Usage);
        assert_eq!(run(&["no-such-noun"]), Exit::Usage);
    }

    #[test]
    fn a_pipeline_needs_python() {
        assert_eq!(run(&["pipeline", "run", "job.toml"]), Exit::Failed);
        assert_eq!(run(&["pipeline", "run"]), Exit::Usage);
    }
}
