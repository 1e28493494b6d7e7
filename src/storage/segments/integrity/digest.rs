//! Digests of batch headers. They prove base offsets, lengths and leader epochs, none of which a
//! batch's checksum covers.
//!
//! A stretch is a run of neighbouring batches. It ends with the batch that brings it to [`STRETCH`]
//! bytes, or earlier at a gap or at the end of the segment. Its digest is two sums over the CRCs of
//! their headers, one of them weighted by the batch's number in the stretch, as in Fletcher's
//! checksum. A single wrong header changes the second sum by its number times the change of the
//! first, which identifies the header. Neither sum can overflow: a header alone has 61 bytes, so a
//! stretch has fewer than 2^15 batches.

use crate::record::BatchSummary;
use crate::storage::segments::Located;

/// The size in bytes at which a stretch ends: the batch that reaches it is the last one.
pub(super) const STRETCH: u64 = 1 << 20;

/// The digest of the headers of one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderDigest {
    /// Position of the first batch.
    pub(crate) start: u64,
    /// Position after the last batch.
    pub(crate) end: u64,
    /// The sum of the headers' CRCs.
    pub(crate) sum: u64,
    /// The sum of each CRC times the batch's number in the stretch, counted from 1.
    pub(crate) weighted: u64,
}

/// The digests of a segment's stretches, computed while batches are added in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderDigests {
    done: Vec<HeaderDigest>,
    open: HeaderDigest,
    /// Batches of the open stretch.
    batches: u64,
    /// True if batches were added since the last call of `grown`.
    has_grown: bool,
}

/// The conclusion that a digest allows about the batches found in its stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage::segments) enum Proof {
    /// All headers are as written.
    All,
    /// All headers but that of the batch with this index are as written.
    AllBut(usize),
    /// Nothing is proven: more than one header is wrong, or more or fewer batches were found than
    /// were written.
    Nothing,
}

/// The CRC of the header fields that a digest proves: base offset, length, leader epoch, and the
/// batch's own checksum.
pub(in crate::storage::segments) fn header_crc(batch: &BatchSummary) -> u32 {
    let crc = crc32c::crc32c(&batch.base_offset.get().to_be_bytes());
    let crc = crc32c::crc32c_append(crc, &(batch.size as u64).to_be_bytes());
    let crc = crc32c::crc32c_append(crc, &batch.leader_epoch.0.to_be_bytes());
    crc32c::crc32c_append(crc, &batch.crc.to_be_bytes())
}

impl HeaderDigest {
    /// Checks the batches found from its start to its end by the CRCs of their headers; `None`
    /// stands for bytes without a valid header.
    pub(in crate::storage::segments) fn proof(&self, headers: &[Option<u32>]) -> Proof {
        let (mut sum, mut weighted) = (0_u64, 0_u64);
        for (number, crc) in (1..).zip(headers) {
            let crc = u64::from(crc.unwrap_or_default());
            sum = sum.wrapping_add(crc);
            weighted = weighted.wrapping_add(crc.wrapping_mul(number));
        }
        let lacking = self.sum.wrapping_sub(sum);
        let lacking_weighted = self.weighted.wrapping_sub(weighted);
        let unknown = headers.iter().filter(|crc| crc.is_none()).count();
        if unknown == 0 && lacking == 0 && lacking_weighted == 0 {
            return Proof::All;
        }
        let is_wrong = |(number, crc): (u64, &Option<u32>)| {
            let written = u64::from(crc.unwrap_or_default()).wrapping_add(lacking);
            let is_crc = u32::try_from(written).is_ok();
            (unknown == 0 || unknown == 1 && crc.is_none())
                && is_crc
                && lacking_weighted == lacking.wrapping_mul(number)
        };
        (1..).zip(headers).position(is_wrong).map_or(Proof::Nothing, Proof::AllBut)
    }

    fn add(&mut self, number: u64, batch: &Located) {
        let crc = u64::from(header_crc(&batch.summary));
        self.end = batch.end();
        self.sum = self.sum.wrapping_add(crc);
        self.weighted = self.weighted.wrapping_add(crc.wrapping_mul(number));
    }
}

impl HeaderDigests {
    /// Digests to which more batches are added; `done` were computed before.
    pub(crate) fn resumed(done: Vec<HeaderDigest>) -> Self {
        Self { done, ..Self::default() }
    }

    /// Adds the next batch. If it does not follow the previous batch directly, it begins a new
    /// stretch.
    pub(crate) fn pass(&mut self, batch: &Located) {
        if batch.position != self.open.end {
            self.finish_stretch();
        }
        if self.batches == 0 {
            self.open =
                HeaderDigest { start: batch.position, end: batch.position, sum: 0, weighted: 0 };
        }
        self.batches += 1;
        self.has_grown = true;
        self.open.add(self.batches, batch);
        if self.open.end - self.open.start >= STRETCH {
            self.finish_stretch();
        }
    }

    /// All digests, including that of the unfinished stretch.
    pub(crate) fn all(&self) -> Vec<HeaderDigest> {
        let open = (self.batches > 0).then_some(self.open);
        self.done.iter().copied().chain(open).collect()
    }

    /// All digests, if there are new ones since the last call.
    pub(crate) fn grown(&mut self) -> Option<Vec<HeaderDigest>> {
        std::mem::take(&mut self.has_grown).then(|| self.all())
    }

    /// Removes the stretches that go beyond `size`, where the segment is truncated.
    pub(crate) fn truncate(&mut self, size: u64) {
        if self.open.end > size {
            (self.open, self.batches) = (HeaderDigest::default(), 0);
        }
        self.done.retain(|digest| digest.end <= size);
    }

    /// Ends the current stretch; the next batch begins a new one.
    pub(super) fn finish_stretch(&mut self) {
        if self.batches > 0 {
            self.done.push(self.open);
        }
        (self.open, self.batches) = (HeaderDigest::default(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{LeaderEpoch, Offset, Timestamp};

    fn batch(position: u64, offset: i64, size: usize) -> Located {
        let summary = BatchSummary {
            base_offset: Offset::new(offset),
            last_offset: Offset::new(offset),
            size,
            leader_epoch: LeaderEpoch(1),
            record_count: 1,
            max_timestamp: Timestamp::NONE,
            producer: None,
            crc: u32::try_from(offset).unwrap(),
        };
        Located { position, summary }
    }

    fn batches(count: u64, size: usize) -> Vec<Located> {
        let at = |n: u64| batch(n * size as u64, i64::try_from(n).unwrap() * 10, size);
        (0..count).map(at).collect()
    }

    fn digests(batches: &[Located]) -> Vec<HeaderDigest> {
        let mut digests = HeaderDigests::default();
        for batch in batches {
            digests.pass(batch);
        }
        digests.all()
    }

    fn headers(batches: &[Located]) -> Vec<Option<u32>> {
        batches.iter().map(|batch| Some(header_crc(&batch.summary))).collect()
    }

    fn moved(batch: &Located) -> u32 {
        let mut summary = batch.summary;
        summary.base_offset = summary.base_offset.plus(3);
        header_crc(&summary)
    }

    #[test]
    fn a_digest_names_the_only_header_that_is_wrong() {
        let written = batches(300, 70);
        let [digest] = digests(&written)[..] else { panic!("one stretch") };
        assert_eq!(digest.proof(&headers(&written)), Proof::All);
        for index in 0..written.len() {
            let mut found = headers(&written);
            found[index] = Some(moved(&written[index]));
            assert_eq!(digest.proof(&found), Proof::AllBut(index));
            found[index] = None;
            assert_eq!(digest.proof(&found), Proof::AllBut(index));
        }
    }

    #[test]
    fn a_digest_proves_nothing_of_two_headers_that_are_wrong_or_of_one_that_is_missing() {
        let written = batches(300, 70);
        let [digest] = digests(&written)[..] else { panic!("one stretch") };
        let mut found = headers(&written);
        found.remove(7);
        assert_eq!(digest.proof(&found), Proof::Nothing);
        found[7] = None;
        assert_eq!(digest.proof(&found), Proof::Nothing);
        let mut found = headers(&written);
        (found[3], found[9]) = (Some(moved(&written[3])), Some(moved(&written[9])));
        assert_eq!(digest.proof(&found), Proof::Nothing);
        (found[3], found[9]) = (None, Some(moved(&written[9])));
        assert_eq!(digest.proof(&found), Proof::Nothing);
    }

    #[test]
    fn stretches_follow_one_another_and_a_truncation_removes_them() {
        let written = batches(5, 400 << 10);
        let found = digests(&written);
        let ends = [3 * (400 << 10), 5 * (400 << 10)];
        assert_eq!(found.iter().map(|digest| digest.end).collect::<Vec<_>>(), ends);
        assert_eq!(found[1].start, found[0].end);
        let mut growing = HeaderDigests::resumed(found.clone());
        growing.truncate(ends[1] - 1);
        assert_eq!(growing.all(), found[..1]);
        for batch in &written[3..] {
            growing.pass(batch);
        }
        assert_eq!(growing.all(), found);
    }
}
