//! The check of one batch of a producer, and its recompression for topics that require a codec.

use std::borrow::Cow;

use crate::broker::errors::Refusal;
use crate::record::{
    Compression, Decompressor, HeaderMut, Packing, ProduceRules, Repacker, validate_produced_with,
};
use crate::wire::ErrorCode;

/// Validates a batch and corrects its max timestamp. Returns the recompressed batch if the topic
/// uses another codec.
pub(super) fn check_batch(
    bytes: &mut [u8],
    (rules, version): (&ProduceRules, i16),
    repacker: &mut Repacker,
    decompressor: &mut Decompressor,
) -> Result<Option<Vec<u8>>, Refusal> {
    let checked = validate_produced_with(bytes, rules, decompressor)?;
    if checked.batch.is_transactional() {
        return Err(Refusal::of(ErrorCode::InvalidTxnState));
    }
    if version < first_produce_version(checked.batch.compression()) {
        return Err(Refusal::of(ErrorCode::UnsupportedCompressionType));
    }
    let stated = checked.batch.max_timestamp();
    let latest = checked.max_timestamp.unwrap_or(stated);
    let repack = |(packing, records): (Packing, Cow<'_, [u8]>)| {
        repacker.repack(&checked.batch, &records, (packing, rules.batch_bytes_max))
    };
    let mut recompressed = checked.repack.map(repack).transpose()?;
    if latest != stated
        && let Some(mut header) = HeaderMut::of_batch(recompressed.as_deref_mut().unwrap_or(bytes))
    {
        header.set_max_timestamp(latest);
    }
    Ok(recompressed)
}

/// The first version of `Produce` that allows this codec.
fn first_produce_version(compression: Compression) -> i16 {
    if compression == Compression::Zstd { 7 } else { 3 }
}
