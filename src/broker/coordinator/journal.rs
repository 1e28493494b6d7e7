//! Appending a coordinator's records to the log of its partition.
//!
//! ```text
//! append → queued → written by the pool, in order → flushed and replicated → reported
//! ```
//!
//! Writing may block on a disk, so it never happens on the control thread. One write is in progress
//! at a time; appends that arrive meanwhile are written together by the next.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::engine::{Control, Unavailable as Stopping};
use crate::group::{Append, AppendId, Unavailable};
use crate::record::{BatchBuilder, BatchSettings, Compressor, RecordError};
use crate::replication::{Acks, Partition, PartitionError, Registration};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// An offset beyond the end of any log: waiting for it means waiting until the partition stops.
const NEVER: Offset = Offset::new(i64::MAX);

/// The result of one write.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Appends in the log, each with the offset after its last record.
    appended: Vec<(AppendId, Offset)>,
    /// Appends that are not in the log and never will be.
    pub(super) refused: Vec<(AppendId, Unavailable)>,
}

type Writing = Pin<Box<dyn Future<Output = Written> + Send>>;

/// The appends of one coordinator, from the decision to their replication.
pub(super) struct Journal {
    partition: Arc<Partition>,
    /// The leader epoch of the coordinator: nothing is appended or reported in any other.
    epoch: LeaderEpoch,
    control: Control,
    queued: Vec<Append>,
    writing: Option<Writing>,
    /// Appends in the log that are not replicated yet, oldest first.
    unreplicated: VecDeque<(AppendId, Offset)>,
    /// Notified when the high watermark may have passed the oldest append, or the partition
    /// stopped.
    progressed: Arc<Notify>,
    /// The registration for the high watermark to pass the oldest append.
    registration: Option<Registration>,
    _until_stopped: Registration,
}

impl Journal {
    /// Creates a journal without appends.
    pub(super) fn new(partition: &Arc<Partition>, epoch: LeaderEpoch, control: &Control) -> Self {
        let progressed = Arc::new(Notify::new());
        Self {
            _until_stopped: partition.wait_beyond(NEVER, &progressed),
            partition: Arc::clone(partition),
            epoch,
            control: control.clone(),
            queued: Vec::new(),
            writing: None,
            unreplicated: VecDeque::new(),
            progressed,
            registration: None,
        }
    }

    /// Queues appends, to be written in this order.
    pub(super) fn append(&mut self, appends: Vec<Append>, now: Timestamp) {
        self.queued.extend(appends);
        self.write_on(now);
    }

    /// Waits until a write has ended or [`Self::take_replicated`] may have a result. Cancel-safe.
    pub(super) async fn progress(&mut self) -> Option<Written> {
        let write = async {
            match &mut self.writing {
                Some(writing) => writing.await,
                None => pending().await,
            }
        };
        let written = tokio::select! {
            biased;
            written = write => written,
            () = self.progressed.notified() => return None,
        };
        self.writing = None;
        Some(written)
    }

    /// Records the result of a write, and starts the next.
    pub(super) fn conclude(&mut self, written: Written, now: Timestamp) {
        self.unreplicated.extend(written.appended);
        self.write_on(now);
    }

    /// Removes the appends that are replicated by now, and returns the last of them.
    ///
    /// # Errors
    /// If the leader epoch is over, so that nothing more will be replicated.
    pub(super) fn take_replicated(&mut self) -> Result<Option<AppendId>, PartitionError> {
        let mut last = None;
        self.partition.is_committed(self.epoch, Offset::ZERO)?;
        while let Some((id, next_offset)) = self.unreplicated.front().copied() {
            if self.registration.is_none() {
                // Register before checking, so that no wakeup in between is missed.
                let last_offset = Offset::new(next_offset.get() - 1);
                self.registration = Some(self.partition.wait_beyond(last_offset, &self.progressed));
            }
            if !self.partition.is_committed(self.epoch, next_offset)? {
                break;
            }
            self.registration = None;
            self.unreplicated.pop_front();
            last = Some(id);
        }
        Ok(last)
    }

    fn write_on(&mut self, now: Timestamp) {
        if self.writing.is_some() || self.queued.is_empty() {
            return;
        }
        let appends = std::mem::take(&mut self.queued);
        let ids: Vec<AppendId> = appends.iter().map(|append| append.id).collect();
        let (control, partition) = (self.control.clone(), Arc::clone(&self.partition));
        let epoch = self.epoch;
        self.writing = Some(Box::pin(async move {
            let write = control.run_blocking(move || write(&partition, epoch, &appends, now));
            match write.await {
                Ok(written) => written,
                Err(Stopping) => refuse_all(&ids, Unavailable::NotCoordinator),
            }
        }));
    }
}

/// Writes appends to the log in a leader epoch; the log is created if necessary. Blocks on the
/// disk.
fn write(
    partition: &Arc<Partition>,
    epoch: LeaderEpoch,
    appends: &[Append],
    now: Timestamp,
) -> Written {
    let mut written = Written::default();
    let mut ids = Vec::with_capacity(appends.len());
    let mut batches = Vec::with_capacity(appends.len());
    for append in appends {
        match batch_of(append, now) {
            Ok(batch) => {
                ids.push(append.id);
                batches.push(batch);
            }
            Err(error) => {
                tracing::error!(
                    "records of a group cannot be encoded for {}: {error}",
                    partition.id()
                );
                written.refused.push((append.id, Unavailable::NotAvailable));
            }
        }
    }
    let mut bytes: Vec<&mut [u8]> = batches.iter_mut().map(Vec::as_mut_slice).collect();
    let outcomes =
        partition.lead().and_then(|()| partition.append(epoch, &mut bytes, Acks::All, now));
    match outcomes {
        Ok(outcomes) => {
            for (id, outcome) in ids.into_iter().zip(outcomes) {
                match outcome {
                    Ok(appended) => written.appended.push((id, appended.next_offset)),
                    Err(error) => unreachable!("a batch without a producer was refused: {error}"),
                }
            }
        }
        Err(error) => {
            tracing::warn!("records of groups were not appended to {}: {error}", partition.id());
            let reason = if error.ends_epoch() {
                Unavailable::NotCoordinator
            } else {
                Unavailable::NotAvailable
            };
            written.refused.extend(refuse_all(&ids, reason).refused);
        }
    }
    written
}

fn refuse_all(ids: &[AppendId], reason: Unavailable) -> Written {
    let refused = ids.iter().map(|id| (*id, reason)).collect();
    Written { appended: Vec::new(), refused }
}

/// Encodes the records of an append as one batch, so that they are appended atomically.
fn batch_of(append: &Append, now: Timestamp) -> Result<Vec<u8>, RecordError> {
    let mut builder = BatchBuilder::new();
    for record in &append.records {
        builder.push(now, Some(&record.key), record.value.as_deref(), &[])?;
    }
    builder.build(&BatchSettings::default(), &mut Compressor::none())
}
