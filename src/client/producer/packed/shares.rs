//! Distributing the records of a batch over new batches.

use super::batch::Packed;
use crate::client::producer::audit::Windows;
use crate::record::{Batch, BatchBuilder, Decompressor, Limits, ProducerStamp};

/// The content of a new batch.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) builder: BatchBuilder,
    pub(super) windows: Windows,
}

/// The position of a record in its batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// Its index in the batch.
    pub(super) place: u32,
    /// True if it ends in the first half of the uncompressed bytes.
    pub(super) is_in_front: bool,
}

/// Distributes the records of `whole` over `N` shares and returns them with the producer stamp of
/// the batch. `choose` returns the number of a record's share, or `None` to leave the record out.
/// Returns `None` if the batch exceeds the limits of decompression.
pub(super) fn shares<const N: usize>(
    whole: &Packed,
    choose: impl Fn(Position) -> Option<usize>,
) -> Option<([Share; N], Option<ProducerStamp>)> {
    let batch = Batch::parse(&whole.bytes).ok()?;
    let payload = batch.decompressed(&mut Decompressor::default()).ok()?;
    let mut records = batch.records(&payload, &Limits::default());
    let mut shares = std::array::from_fn(|_| Share::default());
    let mut headers = Vec::new();
    for place in 0..batch.record_count() {
        let record = records.next()?.ok()?;
        let is_in_front = records.position() <= payload.len() / 2;
        let Some(chosen) = choose(Position { place, is_in_front }) else { continue };
        let share: &mut Share = &mut shares[chosen];
        let time = batch.timestamp_of(&record);
        headers.clear();
        headers.extend(record.headers);
        share.builder.push(time, record.key, record.value, &headers).ok()?;
        share.windows.add_from(&whole.windows, time);
    }
    Some((shares, batch.producer()))
}
