//! `streamlog partition skip-damage`: gives up damaged records, so that readers skip them.

use std::io::Write;
use std::ops::Range;

use clap::Args;
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::partition::place::{partition, require};
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{DamagedStretch, SkippedStretch};
use crate::config::ConfigError;
use crate::types::{Offset, TopicPartition};

/// Gives up damaged records, so that readers skip them; only with --yes
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The partition, for example orders-0
    #[arg(value_name = "TOPIC-N")]
    partition: String,
    /// Start of the offset range, which must cover whole damaged ranges
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    from: i64,
    /// End of the offset range, excluded
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    to: i64,
    /// Confirm giving up the records
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct SkippedRow {
    topic: String,
    partition: i32,
    first_offset: i64,
    next_offset: i64,
    bytes: u64,
    unreadable_bytes: u64,
    copy: Option<String>,
}

impl Row for SkippedRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "first_offset", "next_offset", "bytes", "unreadable_bytes", "copy"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let partition = partition(&self.partition)?;
        let from = offset("--from", self.from)?;
        let to = offset("--to", self.to)?;
        if from >= to {
            let reason = format!("{to} is not behind --from {from}: the end is excluded");
            return Err(ConfigError::single("--to", reason).into());
        }
        let admin = cluster.connect()?.0.admin();
        require(&admin, &partition)?;
        if !self.yes {
            let damage = admin.damage()?;
            return Err(CommandError::Unconfirmed(loss(&partition, &(from..to), &damage)));
        }
        let skipped = admin.skip_damage(&partition, from..to)?;
        let row = |stretch: SkippedStretch| SkippedRow {
            topic: partition.topic.to_string(),
            partition: partition.partition.0,
            first_offset: stretch.first.get(),
            next_offset: stretch.next.get(),
            bytes: stretch.bytes,
            unreadable_bytes: stretch.unreadable_bytes,
            copy: stretch.copy,
        };
        cluster.rows().write(out, skipped.into_iter().map(row))
    }
}

fn offset(option: &str, number: i64) -> Result<Offset, ConfigError> {
    let refused = || ConfigError::single(option, format!("{number}: offsets are not negative"));
    Offset::checked(number).ok_or_else(refused)
}

/// Describes the records that would be lost.
fn loss(partition: &TopicPartition, offsets: &Range<Offset>, damage: &[DamagedStretch]) -> String {
    let is_meant = |stretch: &&DamagedStretch| {
        stretch.partition == *partition
            && !stretch.is_skipped
            && stretch.first < offsets.end
            && stretch.next > offsets.start
    };
    let stretches = damage.iter().filter(is_meant).map(|stretch| {
        let DamagedStretch { first, next, file, positions, .. } = stretch;
        let bytes = positions.end - positions.start;
        format!("offsets {first} to {next} ({bytes} bytes of {file})")
    });
    let stretches: Vec<String> = stretches.collect();
    if stretches.is_empty() {
        let Range { start, end } = offsets;
        return format!("{partition} has no known damage between {start} and {end}");
    }
    format!("this gives up what {partition} held at {}", stretches.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BrokerId;

    #[test]
    fn the_records_that_would_be_lost_are_listed_exactly() {
        let place = partition("orders-0").unwrap();
        let stretch = |first, next, is_skipped| DamagedStretch {
            broker: BrokerId(1),
            partition: place.clone(),
            first: Offset::new(first),
            next: Offset::new(next),
            file: "/data/orders-0/0.log".to_owned(),
            positions: 100..150,
            is_skipped,
        };
        let damage = [stretch(3, 5, false), stretch(7, 8, true), stretch(9, 10, false)];
        let range = |from, to| Offset::new(from)..Offset::new(to);
        let expected = "this gives up what orders-0 held at \
                        offsets 3 to 5 (50 bytes of /data/orders-0/0.log)";
        assert_eq!(loss(&place, &range(0, 9), &damage), expected);
        assert!(loss(&place, &range(5, 9), &damage).contains("has no known damage"));
    }
}
