//! The check of one batch of a producer, and its recompression for topics that require a codec.

use std::borrow::Cow;

use crate::broker::errors::Refusal;
use crate::record::{
    Batch, Compression, Decompressor, HeaderMut, Packing, ProduceRules, Repacker,
    validate_produced_with,
};
use crate::wire::ErrorCode;

/// The size of the largest batch that a shard recompresses itself, and only with a fast codec.
const REPACKED_HERE_MAX: usize = 32 * 1024;

/// Validates a batch and corrects its max timestamp. Returns the recompressed batch if the topic
/// uses another codec.
pub(super) fn check_batch(
    bytes: &mut [u8],
    rules: &ProduceRules,
    version: i16,
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
        repacker.repack(&checked.batch, &records, packing, rules.batch_bytes_max)
    };
    let mut recompressed = checked.repack.map(repack).transpose()?;
    if latest != stated
        && let Some(mut header) = HeaderMut::of_batch(recompressed.as_deref_mut().unwrap_or(bytes))
    {
        header.set_max_timestamp(latest);
    }
    Ok(recompressed)
}

/// Copies of batches, checked and recompressed together on another thread.
#[derive(Debug)]
pub(super) struct SlowBatches {
    rules: ProduceRules,
    /// The batches, with the versions of their requests.
    batches: Vec<(Vec<u8>, i16)>,
}

impl SlowBatches {
    /// Starts without batches, for a topic with these rules.
    pub(super) fn new(rules: ProduceRules) -> Self {
        Self { rules, batches: Vec::new() }
    }

    /// Adds a copy of a batch.
    pub(super) fn push(&mut self, bytes: &[u8], version: i16) {
        self.batches.push((bytes.to_vec(), version));
    }

    /// Checks all batches, and returns them in order as they are to be stored.
    pub(super) fn check(self) -> Vec<Result<Vec<u8>, Refusal>> {
        let Self { rules, batches } = self;
        let bytes = batches.iter().map(|(bytes, _)| bytes.len()).sum();
        let mut decompressor = Decompressor::for_request_of(bytes);
        let mut repacker = Repacker::default();
        let check = |(mut bytes, version): (Vec<u8>, i16)| -> Result<Vec<u8>, Refusal> {
            let checked =
                check_batch(&mut bytes, &rules, version, &mut repacker, &mut decompressor)?;
            Ok(checked.unwrap_or(bytes))
        };
        batches.into_iter().map(check).collect()
    }
}

/// Returns true if a batch must be recompressed and that takes too long for a shard.
pub(super) fn is_slow(bytes: &[u8], packing: Packing) -> bool {
    // A batch without a valid header is not slow: the check refuses it at once.
    let codec = Batch::parse(bytes).map(|batch| batch.compression());
    codec.is_ok_and(|codec| codec != packing.compression)
        && (bytes.len() > REPACKED_HERE_MAX || !packing.is_fast())
}

/// The first version of `Produce` that allows this codec.
fn first_produce_version(compression: Compression) -> i16 {
    if compression == Compression::Zstd { 7 } else { 3 }
}
