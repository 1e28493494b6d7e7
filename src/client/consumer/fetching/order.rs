//! The order of the batches in an answer: the first holds the offset asked for, each goes on where
//! the one before ended, and all end below the watermark told with them.
//!
//! Only headers are looked at, once, on the way to where to fetch next. A checksum does not cover
//! the base offset, so nothing else tells a client of a wrong one.

use crate::client::OrderFault;
use crate::record::{Batch, Batches, HEADER_SIZE, RecordError};
use crate::types::Offset;

/// The place that an answer was asked to begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first offset wanted.
    pub(crate) position: Offset,
    /// Whether the batch before ended there, so that none may begin earlier.
    pub(crate) is_boundary: bool,
}

/// The batches of an answer that are in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InOrder {
    /// Their bytes, from the first of the answer on.
    pub(crate) size: usize,
    /// The offset after the last of them; `None` when there are none.
    pub(crate) end: Option<Offset>,
    /// The fault of the batch behind them, if that is why they end.
    pub(crate) fault: Option<OrderFault>,
}

/// Finds the batches that are in order, where `allows` says which faults are none at a place.
///
/// # Errors
/// When not even the first batch can be read.
pub(crate) fn in_order(
    records: &[u8],
    mut place: Place,
    high_watermark: Option<Offset>,
    allows: impl Fn(OrderFault, Place) -> bool,
) -> Result<InOrder, RecordError> {
    let mut found = InOrder::default();
    let mut batches = Batches::new(records);
    while let Some(batch) = batches.next() {
        let batch = match batch {
            Ok(batch) => batch,
            // What precedes the bad batch is good; the next fetch begins with it.
            Err(_) if found.end.is_some() => break,
            Err(error) => return Err(error),
        };
        let fault = fault_of(&batch, place, high_watermark);
        if let Some(fault) = fault.filter(|fault| !allows(*fault, place)) {
            found.fault = Some(fault);
            break;
        }
        place = Place { position: place.position.max(batch.next_offset()), is_boundary: true };
        (found.size, found.end) = (batches.position(), Some(batch.next_offset()));
    }
    let is_cut_off = found == InOrder::default() && !batches.rest().is_empty();
    if is_cut_off { Err(cut_off(batches.rest())) } else { Ok(found) }
}

/// No broker sends less than a whole batch, so a length is wrong.
fn cut_off(records: &[u8]) -> RecordError {
    let stated = Batch::peek_len(records).ok().flatten().unwrap_or(HEADER_SIZE);
    RecordError::Truncated { stated, held: records.len() }
}

fn fault_of(batch: &Batch<'_>, place: Place, high_watermark: Option<Offset>) -> Option<OrderFault> {
    let (found, next, expected) = (batch.base_offset(), batch.next_offset(), place.position);
    if let Some(high_watermark) = high_watermark.filter(|end| next > *end) {
        Some(OrderFault::BeyondWatermark { next, high_watermark })
    } else if found > expected {
        Some(OrderFault::Missing { from: expected, to: found })
    } else if next <= expected || (place.is_boundary && found < expected) {
        Some(OrderFault::Repeated { expected, found })
    } else {
        None
    }
}
