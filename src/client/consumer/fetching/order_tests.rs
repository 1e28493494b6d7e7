//! Batches are accepted while they are in order, and the first fault is reported.

use super::offset_rules::OffsetRules;
use super::order::{InOrder, in_order};
use crate::client::OrderFault;
use crate::client::consumer::fetch_buffer::ExpectedStart;
use crate::record::{BatchBuilder, BatchSettings, Compressor, HeaderMut, RecordError};
use crate::types::{Offset, Timestamp};

/// A batch with offsets `base..next`.
fn batch(base: i64, next: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for _ in base..next {
        builder.push(Timestamp::from_millis(0), None, Some(b"v"), &[]).unwrap();
    }
    let mut bytes = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    HeaderMut::of_batch(&mut bytes).unwrap().set_base_offset(Offset::new(base));
    bytes
}

fn batches(ranges: &[(i64, i64)]) -> Vec<u8> {
    ranges.iter().flat_map(|(base, next)| batch(*base, *next)).collect()
}

fn at(position: i64, is_boundary: bool) -> ExpectedStart {
    ExpectedStart { position: Offset::new(position), is_boundary }
}

fn checked(ranges: &[(i64, i64)], place: ExpectedStart, rules: Option<&OffsetRules>) -> InOrder {
    let allows = |fault, place| rules.is_some_and(|rules| rules.allows(fault, place));
    in_order(&batches(ranges), place, Some(Offset::new(100)), allows).unwrap()
}

/// The fault found without any rules.
fn fault(ranges: &[(i64, i64)], place: ExpectedStart) -> Option<OrderFault> {
    checked(ranges, place, None).fault
}

fn missing(from: i64, to: i64) -> OrderFault {
    OrderFault::Missing { from: Offset::new(from), to: Offset::new(to) }
}

fn repeated(expected: i64, found: i64) -> OrderFault {
    OrderFault::Repeated { expected: Offset::new(expected), found: Offset::new(found) }
}

fn ordered(gaps: &[(i64, i64)], counts_bytes: bool) -> OffsetRules {
    let gaps = gaps.iter().map(|(first, next)| Offset::new(*first)..Offset::new(*next)).collect();
    OffsetRules::Ordered { gaps, counts_bytes }
}

#[test]
fn batches_in_order_are_accepted_from_any_position_in_the_first() {
    let ranges = [(10, 15), (15, 16), (16, 100)];
    let size = batches(&ranges).len();
    for position in 10..15 {
        let end = Some(Offset::new(100));
        assert_eq!(checked(&ranges, at(position, false), None), InOrder { size, end, fault: None });
    }
    assert_eq!(fault(&ranges, at(10, true)), None);
}

#[test]
fn a_response_that_does_not_begin_at_the_requested_offset_is_a_fault() {
    let ranges = [(10, 15), (15, 16)];
    assert_eq!(fault(&ranges, at(9, false)), Some(missing(9, 10)));
    assert_eq!(fault(&ranges, at(9, true)), Some(missing(9, 10)));
    assert_eq!(fault(&ranges, at(15, false)), Some(repeated(15, 10)));
    assert_eq!(
        fault(&ranges, at(12, true)),
        Some(repeated(12, 10)),
        "the batch before ended at 12"
    );
}

#[test]
fn batches_before_a_gap_or_an_overlap_are_accepted() {
    for (second, expected) in
        [((16, 20), Some(missing(15, 16))), ((14, 20), Some(repeated(15, 14)))]
    {
        let found = checked(&[(10, 15), second], at(10, false), None);
        let end = Some(Offset::new(15));
        assert_eq!(found, InOrder { size: batch(10, 15).len(), end, fault: expected });
    }
}

#[test]
fn a_batch_beyond_the_high_watermark_of_its_response_is_a_fault() {
    let (next, high_watermark) = (Offset::new(101), Offset::new(100));
    let beyond = Some(OrderFault::BeyondWatermark { next, high_watermark });
    assert_eq!(fault(&[(90, 101)], at(90, true)), beyond);
    assert_eq!(checked(&[(90, 101)], at(90, true), Some(&ordered(&[(0, 99)], true))).fault, beyond);
}

#[test]
fn a_flipped_bit_in_a_base_offset_is_detected() {
    for bit in 0..63 {
        let base = 32 ^ (1_i64 << bit);
        if base >= i64::MAX - 8 {
            continue;
        }
        let ranges = [(24, 32), (base, base + 8), (40, 48)];
        let bytes: Vec<u8> = ranges
            .iter()
            .flat_map(|(base, _)| {
                let mut bytes = batch(0, 8);
                HeaderMut::of_batch(&mut bytes).unwrap().set_base_offset(Offset::new(*base));
                bytes
            })
            .collect();
        let end = Some(Offset::new(100));
        let found = in_order(&bytes, at(24, false), end, |_, _| false).unwrap();
        assert!(found.fault.is_some(), "bit {bit}");
        assert_eq!(found.end, Some(Offset::new(32)), "bit {bit}: earlier batches are accepted");
    }
}

#[test]
fn gaps_known_to_the_broker_are_permitted() {
    let ranges = [(10, 15), (20, 25), (30, 35)];
    let skipped = ordered(&[(14, 17), (17, 20), (25, 30)], false);
    let end = Some(Offset::new(35));
    assert_eq!(checked(&ranges, at(10, false), Some(&skipped)).end, end);
    let one = ordered(&[(15, 20)], false);
    assert_eq!(checked(&ranges, at(10, false), Some(&one)).fault, Some(missing(25, 30)));
    let short = ordered(&[(15, 19)], false);
    assert_eq!(checked(&ranges, at(10, false), Some(&short)).fault, Some(missing(15, 20)));
    assert_eq!(checked(&ranges, at(15, true), Some(&skipped)).fault, Some(repeated(15, 10)));
}

#[test]
fn with_byte_offsets_a_reader_may_start_after_the_records_of_a_batch() {
    let rules = ordered(&[], true);
    assert_eq!(checked(&[(50, 60)], at(44, false), Some(&rules)).fault, None);
    assert_eq!(checked(&[(50, 60)], at(44, true), Some(&rules)).fault, Some(missing(44, 50)));
}

#[test]
fn a_broker_without_rules_may_send_any_order() {
    let ranges = [(8, 12), (30, 35), (90, 120)];
    let found = checked(&ranges, at(10, true), Some(&OffsetRules::Unknown));
    assert_eq!((found.end, found.fault), (Some(Offset::new(120)), None));
}

#[test]
fn an_unreadable_batch_ends_the_accepted_ones_and_is_an_error_at_the_start() {
    let mut bytes = batches(&[(0, 5), (5, 10)]);
    let second = batch(0, 5).len();
    bytes[second + 16] = 1;
    let found = in_order(&bytes, at(0, false), None, |_, _| false).unwrap();
    assert_eq!((found.size, found.fault), (second, None));
    let refused = in_order(&bytes[second..], at(5, true), None, |_, _| false);
    assert!(matches!(refused, Err(RecordError::Magic { magic: 1 })), "{refused:?}");
}

#[test]
fn a_response_without_a_whole_batch_is_an_error() {
    let bytes = batch(0, 5);
    let (stated, held) = (bytes.len(), bytes.len() - 1);
    let refused = in_order(&bytes[..held], at(0, true), None, |_, _| false);
    let Err(RecordError::Size { stated: told, held: had }) = refused else { panic!("{refused:?}") };
    assert_eq!((told, had), (stated, held));
    assert_eq!(in_order(&[], at(0, true), None, |_, _| false).unwrap(), InOrder::default());
}
