//! Verification of the order of batches in a response. The first batch contains the requested
//! offset, each batch continues at the end of the previous one, and none reaches beyond the high
//! watermark of the response.
//!
//! Only headers are read, in the same pass that finds the next fetch position. A batch's checksum
//! does not cover its base offset, so no other check would detect a wrong one.

use crate::client::OrderFault;
use crate::client::consumer::fetch_buffer::ExpectedStart;
use crate::record::{Batch, Batches, HEADER_SIZE, RecordError};
use crate::types::Offset;

/// The leading batches of a response that are in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InOrder {
    /// Their size in bytes.
    pub(crate) size: usize,
    /// The offset after the last of these batches; `None` if there are none.
    pub(crate) end: Option<Offset>,
    /// The fault of the batch after them; `None` if they end for another reason.
    pub(crate) fault: Option<OrderFault>,
}

/// Finds the leading batches that are in order; `allows` returns true for permitted faults.
///
/// # Errors
/// If even the first batch cannot be read.
pub(crate) fn in_order(
    records: &[u8],
    mut place: ExpectedStart,
    high_watermark: Option<Offset>,
    allows: impl Fn(OrderFault, ExpectedStart) -> bool,
) -> Result<InOrder, RecordError> {
    let mut found = InOrder::default();
    let mut batches = Batches::new(records);
    while let Some(batch) = batches.next() {
        let batch = match batch {
            Ok(batch) => batch,
            // The batches before it are usable; the next fetch begins with the unreadable one.
            Err(_) if found.end.is_some() => break,
            Err(error) => return Err(error),
        };
        let fault = fault_of(&batch, place, high_watermark);
        if let Some(fault) = fault.filter(|fault| !allows(*fault, place)) {
            found.fault = Some(fault);
            break;
        }
        place =
            ExpectedStart { position: place.position.max(batch.next_offset()), is_boundary: true };
        (found.size, found.end) = (batches.position(), Some(batch.next_offset()));
    }
    let is_cut_off = found == InOrder::default() && !batches.rest().is_empty();
    if is_cut_off { Err(cut_off(batches.rest())) } else { Ok(found) }
}

/// The error for a partial first batch. Brokers always send a first batch whole, so its length
/// field is wrong.
fn cut_off(records: &[u8]) -> RecordError {
    let stated = Batch::peek_len(records).ok().flatten().unwrap_or(HEADER_SIZE);
    RecordError::Size { stated, held: records.len() }
}

fn fault_of(
    batch: &Batch<'_>,
    place: ExpectedStart,
    high_watermark: Option<Offset>,
) -> Option<OrderFault> {
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
