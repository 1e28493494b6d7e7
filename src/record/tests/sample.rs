//! Owned sample records, comparable with the records read back.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, Decompressor, Header, Limits,
    RecordError,
};
use crate::types::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) timestamp: i64,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Sample {
    pub(super) fn of(timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        Self { timestamp, key: owned(key), value: owned(value), headers: Vec::new() }
    }

    pub(super) fn with_header(mut self, key: &[u8], value: Option<&[u8]>) -> Self {
        self.headers.push((key.to_vec(), value.map(<[u8]>::to_vec)));
        self
    }
}

/// Arbitrary records.
pub(super) fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let bytes = || vec(any::<u8>(), 0..100);
    let headers = vec((vec(any::<u8>(), 0..8), option::of(bytes())), 0..4);
    let sample = (any::<i64>(), option::of(bytes()), option::of(bytes()), headers)
        .prop_map(|(timestamp, key, value, headers)| Sample { timestamp, key, value, headers });
    vec(sample, 1..20)
}

pub(super) fn push_all(builder: &mut BatchBuilder, samples: &[Sample]) {
    for (index, sample) in (0..).zip(samples) {
        let headers: Vec<_> = sample
            .headers
            .iter()
            .map(|(key, value)| Header { key, value: value.as_deref() })
            .collect();
        let pushed = builder.push(
            Timestamp::from_millis(sample.timestamp),
            sample.key.as_deref(),
            sample.value.as_deref(),
            &headers,
        );
        assert_eq!(pushed.unwrap(), index);
    }
}

pub(super) fn build(samples: &[Sample], compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    push_all(&mut builder, samples);
    let mut compressor = Compressor::new(compression, None).unwrap();
    builder.build(&BatchSettings::default(), &mut compressor).unwrap()
}

/// Four records that cover the special cases of each field, with values long enough to become
/// smaller with every codec.
pub(super) fn four() -> Vec<Sample> {
    vec![
        Sample::of(1_000, Some(b"k0"), Some(&[b'v'; 400])).with_header(b"h", None),
        Sample::of(1_005, None, Some(b"plain")),
        Sample::of(997, Some(b"k2"), None),
        Sample::of(301_000, Some(b"k3"), Some(&[b'x'; 300])).with_header(b"h", Some(b"1")),
    ]
}

/// The records of a batch, read back.
pub(super) fn read(batch: &Batch<'_>, limits: &Limits) -> Result<Vec<Sample>, RecordError> {
    let payload = batch.decompressed(&mut Decompressor::new(*limits))?;
    let records = batch.records(&payload, limits);
    records
        .map(|record| {
            let record = record?;
            let timestamp = batch.timestamp_of(&record).millis();
            let mut sample = Sample::of(timestamp, record.key, record.value);
            for header in record.headers {
                sample = sample.with_header(header.key, header.value);
            }
            Ok(sample)
        })
        .collect()
}
