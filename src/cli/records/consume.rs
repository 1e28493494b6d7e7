//! `streamlog consume`: prints records of topics as they arrive.

use std::io::Write;

use clap::Args;

use crate::cli::names::Names;
use crate::cli::position::Position;
use crate::cli::progress::{Progress, Unit};
use crate::cli::records::format::{Format, Shape};
use crate::cli::records::row::Messages;
use crate::cli::records::selection::Selection;
use crate::cli::standard_output::{READER_CHECK, is_abandoned};
use crate::cli::{ClusterOptions, CommandError, Exit};
use crate::client::{ClientError, Consumer, Message, UntilEnd};
use crate::config::ConfigError;

/// The number of records between two updates of the progress bar.
const STEP: u64 = 1000;

/// The maximum number of messages marked as processed together, after they are written.
const HELD_MAX: u64 = 100;

/// Reads records of topics.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Start position: earliest, latest, an offset, -N for the last N of each partition, a time, or
    /// -1h for an hour ago; a group continues from its committed offsets
    #[arg(long, value_name = "POSITION", default_value = "earliest", allow_hyphen_values = true)]
    from: Position,
    /// End position, or the current end if that comes first
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    until: Option<Position>,
    /// Stop after this many records
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,
    /// Stop at the current end instead of waiting for more
    #[arg(short = 'e', long)]
    no_follow: bool,
    /// Join this consumer group: share its partitions, and commit offsets
    #[arg(short, long, value_name = "GROUP", conflicts_with = "partition",
          add = Names::Groups)]
    group: Option<String>,
    /// Format of a record: %t topic, %p partition, %o offset, %k key, %s value, %h headers, %T
    /// timestamp, %d time, %K and %S lengths of key and value; %k{i64} and %s{hex} in an encoding
    /// [default: %s\n]
    #[arg(short, long, value_name = "FORMAT", conflicts_with = "output")]
    format: Option<Format>,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// Reading without end, or up to an end.
enum Reading<'a> {
    Endless(&'a Consumer),
    ToEnd(UntilEnd<&'a Consumer>),
}

impl Options {
    /// Runs the command.
    pub(crate) fn run(self) -> Exit {
        self.cluster.answer(|out| {
            self.check_from()?;
            let (client, settings) = self.cluster.connect()?;
            let mut config = settings.consumer;
            config.group.id.clone_from(&self.group);
            let selected = self.selection.find(&client)?;
            let consumer = selected.open(&client, self.from, config)?;
            let reading = match self.until {
                Some(until) => {
                    let limits = selected.limits(&client, until)?;
                    Reading::ToEnd(consumer.until_end()?.and_below(&limits))
                }
                None if self.no_follow => Reading::ToEnd(consumer.until_end()?),
                None => Reading::Endless(&consumer),
            };
            let outcome = self.copy(&reading, out);
            if let Err(CommandError::Output(error)) = outcome {
                // Do not commit: the group continues after the records flushed before.
                return Err(error.into());
            }
            out.flush()?;
            drop(reading);
            if self.group.is_some() {
                // Everything written is processed, including the last record.
                consumer.commit()?;
            }
            consumer.close();
            outcome.map(|()| Exit::Done)
        })
    }

    /// Refuses a relative start for a group: a member does not know its assignment yet.
    fn check_from(&self) -> Result<(), ConfigError> {
        if self.group.is_none() || !matches!(self.from, Position::Relative(_)) {
            return Ok(());
        }
        let reason = "a group does not count from the ends of partitions; `streamlog group reset` \
                      sets where it goes on";
        Err(ConfigError::single("--from", reason))
    }

    fn copy(&self, reading: &Reading<'_>, out: &mut dyn Write) -> Result<(), CommandError> {
        let mut messages = Messages::new(&self.cluster, self.format.as_ref(), &self.shape);
        let limit = self.limit.unwrap_or(u64::MAX);
        let mut progress = None;
        let ctrl_c = self.cluster.ctrl_c()?;
        for read in 0..limit {
            ctrl_c.check()?;
            let Some(message) = reading.next(read, out)? else { break };
            if read.is_multiple_of(STEP) {
                let remaining = reading.remaining().map(|remaining| remaining.min(limit - read));
                progress = progress.or_else(|| Progress::beside_answer(remaining?, Unit::Records));
                progress.iter().zip(remaining).for_each(|(bar, left)| bar.set_left(left));
            }
            messages.write(out, &message)?;
        }
        messages.finish(out)
    }
}

impl Reading<'_> {
    /// Returns the next message, where `read` is the number of messages before it. Flushes the
    /// output before a wait, and at intervals without one: only flushed messages may count as
    /// processed.
    fn next(&self, read: u64, out: &mut dyn Write) -> Result<Option<Message>, CommandError> {
        if !read.is_multiple_of(HELD_MAX)
            && let Some(message) = self.try_more()?
        {
            return Ok(Some(message));
        }
        out.flush()?;
        Ok(self.turn()?)
    }

    /// The number of records left, if there is an end.
    fn remaining(&self) -> Option<u64> {
        match self {
            Self::Endless(_) => None,
            Self::ToEnd(reading) => Some(reading.remaining()),
        }
    }

    /// Returns an available message, leaving the messages before it unprocessed.
    fn try_more(&self) -> Result<Option<Message>, ClientError> {
        match self {
            Self::Endless(consumer) => consumer.try_more(),
            Self::ToEnd(reading) => reading.try_more(),
        }
    }

    /// Waits for a message while the output has a reader, and marks the messages before it as
    /// processed.
    fn turn(&self) -> Result<Option<Message>, ClientError> {
        loop {
            let found = match self {
                Self::Endless(consumer) => consumer.next(Some(READER_CHECK))?,
                Self::ToEnd(reading) => reading.next_within(Some(READER_CHECK))?,
            };
            if found.is_some() || self.is_over() || is_abandoned() {
                return Ok(found);
            }
        }
    }

    /// Returns true if no more messages can arrive.
    fn is_over(&self) -> bool {
        match self {
            Self::Endless(consumer) => consumer.is_closed(),
            Self::ToEnd(reading) => reading.is_done() || reading.consumer().is_closed(),
        }
    }
}
