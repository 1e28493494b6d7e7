//! Produce requests to partitions that are not open yet.

use std::rc::Rc;
use std::sync::Arc;

use super::appends::{Appends, Taken};
use crate::broker::call::Unanswerable;
use crate::broker::context::Shared;
use crate::broker::session::Session;
use crate::net::Piece;
use crate::replication::{Partition, PartitionError};
use crate::storage::StorageError;

/// Answers a produce request that could not be appended on arrival. Threads that may block on the
/// disk open its partitions first.
///
/// # Errors
/// If the connection must be closed instead.
pub(crate) async fn answer_after_opening(
    frame: &mut [u8],
    shared: &Arc<Shared>,
    session: &Rc<Session>,
) -> Result<Vec<Piece>, Unanswerable> {
    let mut appends = Appends::new(shared, session);
    if let Taken::NotOpen(frame, partitions) = appends.take(frame)? {
        for partition in partitions {
            lead(partition, shared).await;
        }
        appends.take_opened(frame)?;
    }
    let mut produced = appends.append();
    // There is only one request, so this answers it.
    produced.settle_next(shared, session).await;
    Ok(produced.answers()?.map(Piece::Bytes).into_iter().collect())
}

async fn lead(partition: Arc<Partition>, shared: &Arc<Shared>) {
    let name = partition.id().clone();
    match shared.engine.control.run_blocking(move || partition.lead()).await {
        // The upkeep thread reports a full disk, once a minute.
        Ok(Ok(()) | Err(PartitionError::Storage(StorageError::OutOfSpace { .. }))) => {}
        Ok(Err(error)) if error.is_logged() => {}
        Ok(Err(error)) => tracing::error!("{name} cannot be written: {error}"),
        Err(stopping) => tracing::debug!("{name} is not opened: {stopping}"),
    }
}
