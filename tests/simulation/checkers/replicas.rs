//! I11: below their high watermarks all replicas hold the same bytes, at all times. I10, I32: each
//! in-sync and each eligible replica has flushed everything below any high watermark.

use std::collections::BTreeMap;
use std::sync::Arc;

use streamlog::replication::Partition;
use streamlog::storage::ReadLimit;
use streamlog::types::{Offset, TopicPartition};

use super::Violation;
use crate::broker::bytes_of;

const SAME: &str = "replicas are the same below the watermark";
const COMPLETE: &str = "in-sync and eligible replicas lack nothing";

/// The bytes that replicas have held below a high watermark.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    known: BTreeMap<TopicPartition, Vec<u8>>,
}

/// The bytes of a replica below an offset.
#[derive(Debug)]
pub(crate) struct Replica {
    partition: TopicPartition,
    broker: i32,
    bytes: Vec<u8>,
}

impl Replica {
    /// Reads a replica below its high watermark; `None` if its log is not open.
    pub(crate) fn shown(partition: &Arc<Partition>) -> Option<Self> {
        Self::below(partition, partition.high_watermark())
    }

    /// Reads what a replica has flushed; `None` if its log is not open.
    pub(crate) fn flushed(partition: &Arc<Partition>) -> Option<Self> {
        Self::below(partition, partition.log()?.flushed_offset())
    }

    /// Reads all that a replica has; `None` if its log is not open.
    pub(crate) fn whole(partition: &Arc<Partition>) -> Option<Self> {
        Self::below(partition, partition.log()?.log_end_offset())
    }

    fn below(partition: &Arc<Partition>, below: Offset) -> Option<Self> {
        let log = partition.log()?;
        let limit =
            ReadLimit { max_bytes: 1 << 20, below, at_least_one_batch: true, keeps_emptied: true };
        let (mut bytes, mut next) = (Vec::new(), Offset::ZERO);
        while next < below {
            // What cannot be read is missed by the comparison with other replicas.
            let Ok(Some(range)) = log.read(next, limit) else { break };
            let part = bytes_of(&range);
            let last = streamlog::record::Batches::new(&part).last().unwrap();
            next = last.unwrap().next_offset();
            bytes.extend(part);
        }
        let broker = partition.broker().0;
        Some(Self { partition: partition.id().clone(), broker, bytes })
    }

    /// The batches.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Replicas {
    /// Compares a replica with all that others have held.
    pub(crate) fn compare(&mut self, replica: Replica) -> Result<(), Violation> {
        let known = self.known.entry(replica.partition.clone()).or_default();
        let common = known.len().min(replica.bytes.len());
        if known[..common] != replica.bytes[..common] {
            let same = known.iter().zip(&replica.bytes).take_while(|(a, b)| a == b).count();
            let (partition, broker) = (replica.partition, replica.broker);
            let facts = format!("{partition} on broker {broker} differs at byte {same}");
            return Err(Violation::new(SAME, facts));
        }
        if replica.bytes.len() > common {
            *known = replica.bytes;
        }
        Ok(())
    }

    /// Judges what a replica has flushed that may be elected.
    pub(crate) fn lacks_nothing(&self, replica: &Replica) -> Result<(), Violation> {
        let known = self.known.get(&replica.partition).map_or(&[][..], Vec::as_slice);
        if replica.bytes.starts_with(known) {
            return Ok(());
        }
        let (partition, broker) = (&replica.partition, replica.broker);
        let (flushed, shown) = (replica.bytes.len(), known.len());
        let facts =
            format!("{partition} on broker {broker}: {flushed} bytes flushed, {shown} shown");
        Err(Violation::new(COMPLETE, facts))
    }
}
