//! `streamlog tail`: the latest records of topics by time, and with `-f` the records that follow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::Write;
use std::mem::ManuallyDrop;

use clap::Args;

use crate::cli::position::Position;
use crate::cli::records::format::{Format, Shape};
use crate::cli::records::row::Messages;
use crate::cli::records::selection::{Selected, Selection};
use crate::cli::standard_output::{READER_CHECK, is_abandoned};
use crate::cli::{ClusterOptions, CommandError, CtrlC, Exit};
use crate::client::{Client, Consumer, ConsumerConfig, Message, Start};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

/// Shows the latest records of topics over all partitions, in order of time.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Number of records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: usize,
    /// Continue with new records
    #[arg(short = 'f', long)]
    follow: bool,
    /// Format of a record, as for `consume --format` [default: %s\n]
    #[arg(long, value_name = "FORMAT", conflicts_with = "output")]
    format: Option<Format>,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// The newest messages; the oldest of them is taken first. Ctrl-C ends the command at once, so what
/// is left is freed with the process: to free millions of messages would take long.
type Newest = ManuallyDrop<BinaryHeap<Reverse<Timed>>>;

/// A message, ordered by timestamp, then by position.
struct Timed((Timestamp, PartitionIndex, Offset), Message);

impl Options {
    /// Runs the command.
    pub(crate) fn run(self) -> Exit {
        self.cluster.answer(|out| {
            let (client, settings) = self.cluster.connect()?;
            let mut messages = Messages::new(&self.cluster, self.format.as_ref(), &self.shape);
            let selected = self.selection.find(&client)?;
            let (mut newest, nexts) = self.newest(&client, &selected, &settings.consumer)?;
            let ctrl_c = self.cluster.ctrl_c()?;
            while let Some(Reverse(Timed(_, message))) = newest.pop() {
                ctrl_c.check()?;
                messages.write(out, &message)?;
            }
            if !self.follow {
                messages.finish(out)?;
                return Ok(Exit::Done);
            }
            let places: Vec<_> =
                nexts.into_iter().map(|(place, next)| (place, Start::Offset(next))).collect();
            let consumer = client.partition_consumer(&places, settings.consumer)?;
            follow(&consumer, &mut messages, out, ctrl_c)?;
            Ok(Exit::Done)
        })
    }

    /// Returns the newest messages, and the next offset of each partition.
    ///
    /// Offsets may have gaps, so the last N offsets may hold fewer than N records: this function
    /// reads further back until it has enough records, or reaches the beginning.
    fn newest(
        &self,
        client: &Client,
        selected: &Selected<'_>,
        config: &ConsumerConfig,
    ) -> Result<(Newest, HashMap<TopicPartition, Offset>), CommandError> {
        let ctrl_c = self.cluster.ctrl_c()?;
        let mut back = i64::try_from(self.lines).unwrap_or(i64::MAX);
        loop {
            let from = Position::Relative(back.saturating_neg());
            let consumer = selected.open(client, from, config.clone())?;
            let starts = consumer.positions();
            let mut newest = Newest::new(BinaryHeap::new());
            for message in consumer.until_end()? {
                ctrl_c.check()?;
                let message = message?;
                let key = (message.timestamp(), message.partition(), message.offset());
                newest.push(Reverse(Timed(key, message.detached())));
                if newest.len() > self.lines {
                    newest.pop();
                }
            }
            let nexts = consumer.positions().into_iter();
            let nexts = nexts.filter_map(|(place, next)| Some((place, next?))).collect();
            if newest.len() >= self.lines || selected.hold_nothing_before(client, &starts)? {
                return Ok((newest, nexts));
            }
            drop(ManuallyDrop::into_inner(newest));
            back = back.saturating_mul(8);
        }
    }
}

fn follow(
    consumer: &Consumer,
    messages: &mut Messages,
    out: &mut dyn Write,
    ctrl_c: &CtrlC,
) -> Result<(), CommandError> {
    loop {
        ctrl_c.check()?;
        let mut found = consumer.try_next()?;
        while found.is_none() {
            out.flush()?;
            if is_abandoned() {
                return Ok(());
            }
            found = consumer.next(Some(READER_CHECK))?;
        }
        let Some(message) = found else { return Ok(()) };
        messages.write(out, &message)?;
    }
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
