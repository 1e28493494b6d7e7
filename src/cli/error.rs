//! Errors of commands, their exit codes, and their report: one line on standard error, with all
//! causes.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use crate::broker::BrokerError;
use crate::cli::Exit;
use crate::cli::progress::is_watched;
use crate::cli::terminal::{Tone, escaped};
use crate::client::{ClientError, ErrorCode};
use crate::config::ConfigError;
use crate::storage::StorageError;
use crate::types::{BrokerId, WithCauses};

/// The error of a write interrupted by Ctrl-C.
#[derive(Debug)]
pub(crate) struct Pressed;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A log's files are missing or unreadable.
    #[error(transparent)]
    Storage(#[from] StorageError),

    /// A data directory cannot be verified or repaired.
    #[error(transparent)]
    Broker(#[from] BrokerError),

    /// A request to the cluster failed or was refused.
    #[error(transparent)]
    Client(ClientError),

    /// No broker could be reached.
    #[error("{0}; `streamlog broker` starts one")]
    Unreachable(ClientError),

    /// A setting or an argument is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),

    /// The cluster has no such broker.
    #[error("there is no node {node}; the cluster has {}", list(nodes))]
    NodeNotFound {
        /// The broker id asked for.
        node: BrokerId,
        /// The ids in the cluster.
        nodes: Vec<BrokerId>,
    },

    /// There is no such topic, group or context.
    #[error("there is no {kind} '{name}'{}", meant(nearest.as_deref()))]
    NotFound {
        /// The kind of resource.
        kind: &'static str,
        /// The name.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
    },

    /// The topic has no such partition.
    #[error("topic '{topic}' has no partition {partition}: it has {count}, numbered from 0")]
    PartitionNotFound {
        /// The topic.
        topic: String,
        /// The partition asked for.
        partition: i32,
        /// The number of partitions.
        count: usize,
    },

    /// A destructive command was not confirmed.
    #[error("{0}; nothing was done: add --yes to confirm")]
    Unconfirmed(String),

    /// The command needs the Python package.
    #[error(
        "{0} is run by Python and Spark: install streamlog's wheel with its extra 'spark', and \
         call the streamlog that comes with it"
    )]
    NeedsPython(String),

    /// A file or standard input cannot be read, or has an invalid record.
    #[error("cannot read {name}")]
    Input {
        /// The name of the input.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },

    /// The output cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// Returns true if a person ended the command, by Ctrl-C or by closing the output as `head`
    /// does: such an end is not reported.
    pub(crate) fn was_ended_by_person(&self) -> bool {
        self.is_closed_pipe() || self.exit() == Exit::Interrupted
    }

    /// Returns true if the reader of the output is gone.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns true if Ctrl-C interrupted a write.
    fn is_pressed(&self) -> bool {
        let Self::Output(error) = self else { return false };
        matches!(error.get_ref(), Some(cause) if cause.is::<Pressed>())
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => exit_of(error),
            Self::Unreachable(_) => Exit::Unreachable,
            Self::Config(_) | Self::Unconfirmed(_) => Exit::Usage,
            Self::NodeNotFound { .. } | Self::NotFound { .. } | Self::PartitionNotFound { .. } => {
                Exit::Missing
            }
            // The reader, `head` for example, has all that it wants: the command succeeded.
            Self::Output(_) if self.is_closed_pipe() => Exit::Done,
            Self::Output(_) if self.is_pressed() => Exit::Interrupted,
            Self::Broker(BrokerError::Interrupted) => Exit::Interrupted,
            Self::Storage(_)
            | Self::Broker(_)
            | Self::NeedsPython(_)
            | Self::Input { .. }
            | Self::Output(_) => Exit::Failed,
        }
    }
}

impl fmt::Display for Pressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ctrl-C was pressed")
    }
}

impl Error for Pressed {}

impl From<Pressed> for io::Error {
    fn from(pressed: Pressed) -> Self {
        Self::other(pressed)
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Connect { .. } => Self::Unreachable(error),
            other => Self::Client(other),
        }
    }
}

impl From<csv::Error> for CommandError {
    fn from(error: csv::Error) -> Self {
        Self::Output(error.into())
    }
}

impl From<serde_norway::Error> for CommandError {
    fn from(error: serde_norway::Error) -> Self {
        Self::Output(io::Error::other(error))
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

fn list(nodes: &[BrokerId]) -> String {
    nodes.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(", ")
}

fn exit_of(error: &ClientError) -> Exit {
    match error {
        ClientError::Config(_) => Exit::Usage,
        ClientError::Connect { .. } => Exit::Unreachable,
        timeout if timeout.is_unconnected() => Exit::Unreachable,
        ClientError::Timeout { .. } => Exit::TimedOut,
        ClientError::TopicNotFound { .. } => Exit::Missing,
        ClientError::Damaged { .. } => Exit::Damaged,
        ClientError::Interrupted => Exit::Interrupted,
        ClientError::Delivery { failures, .. } => {
            failures.first().map_or(Exit::Failed, |failure| exit_of(&failure.error))
        }
        ClientError::Broker { code, .. } => match code {
            ErrorCode::TopicAlreadyExists | ErrorCode::GroupIdNotFound => Exit::Missing,
            ErrorCode::NonEmptyGroup
            | ErrorCode::TopicAuthorizationFailed
            | ErrorCode::GroupAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed => Exit::Denied,
            _ => Exit::Failed,
        },
        _ => Exit::Failed,
    }
}

/// Prints an error on standard error.
pub(crate) fn report(error: &dyn Error) {
    notify(&WithCauses(error));
}

/// Prints a line on standard error.
pub(crate) fn notify(words: &dyn fmt::Display) {
    // A message may have several lines. Other clients may have chosen the rest of its text.
    let words = words.to_string();
    let words = words.split('\n').map(escaped).collect::<Vec<_>>().join("\n");
    let name = Tone::Bad.style().force_styling(is_watched()).apply_to("streamlog:");
    // If standard error is closed, the message is lost.
    let _ = writeln!(io::stderr().lock(), "{name} {words}");
}
