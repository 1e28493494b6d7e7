//! Every broken form of every request, read by its decoder: an error or another request, and
//! never more memory than the frame justifies.

use std::collections::HashMap;

use allocation_counter::measure;
use streamlog::types::TopicId;
use streamlog::wire::{ApiKey, ProduceRequestView, Reader, RequestHeader};

use super::corpus::broken;
use crate::support::{Decode, golden_requests};

/// The memory that a message may take per byte: for its arrays, and again for its strings.
const MEMORY_FACTOR: usize = Reader::MEMORY_FACTOR + 2;

/// The memory that a decoder may allocate in addition, for a few defaults and errors.
const SLACK: usize = 1 << 10;

#[test]
fn no_broken_request_makes_its_decoder_panic_or_allocate_beyond_its_size() {
    let goldens = golden_requests("corpus", TopicId([7; 16]));
    let decoders: HashMap<ApiKey, Decode> =
        goldens.iter().map(|golden| (golden.api, golden.decode)).collect();
    let (mut frames, mut read) = (0_u64, 0_u64);
    for golden in &goldens {
        assert!(is_readable(&golden.body, &decoders), "{} is not well-formed", golden.name);
        for body in broken(golden) {
            let mut is_read = false;
            let spent = measure(|| is_read = is_readable(&body, &decoders)).bytes_max;
            let allowed = body.len() * MEMORY_FACTOR + Reader::MEMORY_LEAST + SLACK;
            let spent = usize::try_from(spent).unwrap();
            assert!(spent <= allowed, "{}: {spent} of {allowed} bytes: {body:02x?}", golden.name);
            frames += 1;
            read += u64::from(is_read);
        }
    }
    assert!(frames >= 100_000, "only {frames} broken requests");
    assert!(0 < read && read < frames, "{read} of {frames} could be read");
}

/// Returns true if the bytes are a valid request.
fn is_readable(body: &[u8], decoders: &HashMap<ApiKey, Decode>) -> bool {
    let Ok((header, reader)) = RequestHeader::decode(body) else { return false };
    let Some(decode) = decoders.get(&header.api_key) else { return false };
    let view = ProduceRequestView::decode(&mut reader.clone());
    let is_read = decode(&header, reader).is_ok();
    if header.api_key == ApiKey::Produce {
        let is_viewed = view.is_ok_and(|view| view.partitions().all(|part| part.is_ok()));
        assert!(is_viewed || !is_read, "read, but not in place: {body:02x?}");
    }
    is_read
}
