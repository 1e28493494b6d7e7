//! Produce requests to partitions that are not open yet.

use super::appends::{Appends, Taken};
use crate::broker::access::LedPartitions;
use crate::broker::call::Unanswerable;
use crate::net::Piece;

/// Answers a produce request that could not be appended on arrival. Threads that may block on the
/// disk open its partitions first.
///
/// # Errors
/// If the connection must be closed instead.
pub(crate) async fn answer_after_opening(
    frame: &mut [u8],
    led: LedPartitions<'_>,
) -> Result<Vec<Piece>, Unanswerable> {
    let mut appends = Appends::new(led);
    if let Taken::NotOpen(frame, partitions) = appends.take(frame)? {
        for partition in partitions {
            led.lead(partition).await;
        }
        appends.take_opened(frame)?;
    }
    let mut produced = appends.append().await;
    // There is only one request, so this answers it.
    produced.settle_next(led).await;
    Ok(produced.answers()?.map(Piece::Bytes).into_iter().collect())
}
