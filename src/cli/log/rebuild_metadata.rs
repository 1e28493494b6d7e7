//! `streamlog log rebuild-metadata DIR`: rebuilds the metadata journal from the logs, and
//! `meta.properties` from the journal.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use crate::broker::{RebuiltMetadata, rebuild_metadata};
use crate::cli::{CommandError, CtrlC, Exit};
use crate::types::TopicName;

/// Rebuilds a lost or damaged metadata journal, or meta.properties, of a stopped broker.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The data directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Number of partitions of a topic whose last partitions have no logs; may be repeated
    #[arg(long, value_name = "TOPIC=COUNT", value_parser = partitions)]
    partitions: Vec<(TopicName, usize)>,
}

impl Options {
    pub(super) fn answer(&self, out: &mut dyn Write, ctrl_c: &CtrlC) -> Result<Exit, CommandError> {
        let partitions: BTreeMap<_, _> = self.partitions.iter().cloned().collect();
        let rebuilt = rebuild_metadata(&self.dir, &partitions, &mut || {
            if ctrl_c.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match rebuilt {
            Some(rebuilt) => {
                if rebuilt.is_identity_new {
                    writeln!(out, "meta.properties was recreated with a new directory.id")?;
                }
                if rebuilt.is_journal_new {
                    write_text(out, &rebuilt)?;
                }
            }
            None => writeln!(out, "the metadata journal is sound and knows all logs")?,
        }
        Ok(Exit::Done)
    }
}

fn partitions(text: &str) -> Result<(TopicName, usize), String> {
    let (topic, count) = text.split_once('=').ok_or("TOPIC=COUNT is expected")?;
    let count = count.parse().ok().filter(|count| (1..=10_000).contains(count));
    let count = count.ok_or("COUNT is a number from 1 to 10000")?;
    let topic =
        topic.parse().map_err(|error| format!("'{topic}' is not a valid topic name: {error}"))?;
    Ok((topic, count))
}

fn write_text(out: &mut dyn Write, rebuilt: &RebuiltMetadata) -> io::Result<()> {
    for topic in &rebuilt.topics {
        let configs = if topic.has_old_configs {
            "settings from the old journal"
        } else {
            "settings unknown: the broker's defaults apply until they are changed"
        };
        let (name, id, count) = (&topic.name, topic.id, topic.partitions);
        writeln!(out, "topic {name}, id {id}: {count} partitions, {configs}")?;
    }
    for (partition, reason) in &rebuilt.unidentified {
        writeln!(out, "{partition} is left alone: {reason}")?;
    }
    for path in &rebuilt.set_aside {
        writeln!(out, "old file kept: {}", path.display())?;
    }
    writeln!(out, "producer ids continue from {} or above", rebuilt.next_producer_id)?;
    if !rebuilt.lost_broker_configs.is_empty() {
        let lost = rebuilt.lost_broker_configs.join(", ");
        writeln!(
            out,
            "settings of brokers are lost ({lost}): those of the configuration file apply until \
             they are set again; put what keeps records there before you start the broker"
        )?;
    }
    if !rebuilt.was_whole {
        writeln!(
            out,
            "not known: topics without records, partitions after the last one with records, \
             topics that were being deleted, settings changed on the broker while it ran; \
             groups and their offsets are in __consumer_offsets"
        )?;
    }
    writeln!(out, "the metadata journal was rebuilt")
}
