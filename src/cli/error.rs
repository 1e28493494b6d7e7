//! Why a command did not finish, and the exit code that says so.

use std::error::Error;
use std::fmt;
use std::io;

use crate::broker::BrokerError;
use crate::cli::Exit;
use crate::client::{ClientError, ErrorCode};
use crate::config::ConfigError;
use crate::storage::StorageError;
use crate::types::BrokerId;

/// The error of a write that Ctrl-C ended.
#[derive(Debug)]
pub(crate) struct Pressed;

/// A command stopped before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A log's files cannot be read, or are not there.
    #[error(transparent)]
    Storage(#[from] StorageError),

    /// A data directory cannot be brought in order.
    #[error(transparent)]
    Broker(#[from] BrokerError),

    /// The cluster could not be asked, or refused.
    #[error(transparent)]
    Client(ClientError),

    /// There is no broker where one was looked for.
    #[error("{0}; `streamlog broker` starts one")]
    Unreachable(ClientError),

    /// A setting or an argument does not fit.
    #[error(transparent)]
    Config(#[from] ConfigError),

    /// The cluster has no broker of this number.
    #[error("there is no node {node}; the cluster has {}", list(nodes))]
    NodeNotFound {
        /// The number.
        node: BrokerId,
        /// Those there are.
        nodes: Vec<BrokerId>,
    },

    /// The cluster has no topic or group of this name.
    #[error("there is no {kind} '{name}'{}", meant(nearest.as_deref()))]
    NotFound {
        /// The kind of thing.
        kind: &'static str,
        /// The name.
        name: String,
        /// The nearest name there is, if one is near.
        nearest: Option<String>,
    },

    /// The topic has no partition of this number.
    #[error("topic '{topic}' has no partition {partition}: it has {count}, numbered from 0")]
    PartitionNotFound {
        /// The topic.
        topic: String,
        /// The number.
        partition: i32,
        /// The number of partitions there are.
        count: usize,
    },

    /// What would be destroyed was not confirmed.
    #[error("{0}; nothing was done, --yes does it")]
    Unconfirmed(String),

    /// Only the Python package can do it.
    #[error(
        "{0} is run by Python and Spark: install streamlog's wheel with its extra 'spark', and \
         call the streamlog that comes with it"
    )]
    NeedsPython(String),

    /// A file, or standard input, cannot be read.
    #[error("cannot read {name}")]
    Input {
        /// What was to be read.
        name: String,
        /// What the system says.
        source: io::Error,
    },

    /// The answer cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// Whether a person ended the command, by Ctrl-C or by a reader that has read enough, as `head`
    /// does: nobody wants to hear of that.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_closed_pipe() || self.exit() == Exit::Interrupted
    }

    /// Whether the reader of the answer went away.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether Ctrl-C ended a write.
    fn is_pressed(&self) -> bool {
        let Self::Output(error) = self else { return false };
        matches!(error.get_ref(), Some(cause) if cause.is::<Pressed>())
    }

    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => exit_of(error),
            Self::Unreachable(_) => Exit::Unreachable,
            Self::Config(_) | Self::Unconfirmed(_) => Exit::Usage,
            Self::NodeNotFound { .. } | Self::NotFound { .. } | Self::PartitionNotFound { .. } => {
                Exit::Missing
            }
            // All that was asked for was done for as long as somebody read it.
            Self::Output(_) if self.is_closed_pipe() => Exit::Done,
            Self::Output(_) if self.is_pressed() => Exit::Interrupted,
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
        ClientError::Timeout { .. } => Exit::TimedOut,
        ClientError::TopicNotFound { .. } => Exit::Missing,
        ClientError::Damaged { .. } => Exit::Damaged,
        ClientError::Interrupted => Exit::Interrupted,
        ClientError::Delivery { failures, .. } => {
            failures.first().map_or(Exit::Failed, |failure| exit_of(&failure.error))
        }
        ClientError::Broker { code, .. } => match code {
            ErrorCode::TopicAlreadyExists | ErrorCode::GroupIdNotFound => Exit::Missing,
            ErrorCode::TopicAuthorizationFailed
            | ErrorCode::GroupAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed => Exit::Denied,
            _ => Exit::Failed,
        },
        _ => Exit::Failed,
    }
}
