//! Decoding of produce requests in place: the batches stay in the receive buffer.
//!
//! The broker takes the ranges of all partitions first, then writes base offset and leader epoch
//! into its own frame buffer and appends directly from it. Nothing is allocated here.
//!
//! ```text
//! transactional id | i16 acks | i32 timeout | topics | tags
//! topic: name, or id from version 13 on | partitions | tags
//!                                              partition: i32 index | records | tags
//! ```

use std::ops::Range;

use super::message::BY_ID_SINCE;
use crate::types::TopicId;
use crate::wire::{Reader, Wire, WireError};

/// The fields of a produce request, with an iterator over its partitions.
#[derive(Clone, Debug)]
pub struct ProduceRequestView<'a> {
    /// The transactional id, or `None` outside transactions.
    pub transactional_id: Option<&'a str>,
    /// The required acknowledgements: 0 for none, 1 for the leader, −1 for all in-sync replicas.
    pub acks: i16,
    /// The maximum time to wait for the replicas.
    pub timeout_ms: i32,
    /// A reader positioned at the array of topics.
    topics: Reader<'a>,
}

/// A topic as identified in a request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicView<'a> {
    /// The name; empty from version 13 on.
    pub name: &'a str,
    /// The id; zero up to version 12.
    pub id: TopicId,
}

/// The batches for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionView<'a> {
    /// The topic. Partitions of a topic are consecutive.
    pub topic: TopicView<'a>,
    /// The partition number.
    pub index: i32,
    /// The range of the batches within the frame passed to [`crate::wire::RequestHeader::decode`];
    /// `None` is null.
    pub records: Option<Range<usize>>,
}

impl TopicView<'_> {
    const NONE: Self = Self { name: "", id: TopicId::NONE };
}

impl<'a> ProduceRequestView<'a> {
    /// Decodes the request from a reader positioned at the body.
    ///
    /// Versions 3 to 13 have this layout.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let transactional_id = reader.read_text()?;
        let acks = i16::decode(reader)?;
        let timeout_ms = i32::decode(reader)?;
        Ok(Self { transactional_id, acks, timeout_ms, topics: reader.clone() })
    }

    /// The partitions, in the order of the request.
    ///
    /// An error ends the iteration. A request must not be executed before it has been decoded to
    /// its end.
    pub fn partitions(&self) -> Partitions<'a> {
        Partitions { reader: self.topics.clone(), at: At::Start, topic: TopicView::NONE }
    }
}

/// An iterator over the partitions of a [`ProduceRequestView`].
#[derive(Clone, Debug)]
pub struct Partitions<'a> {
    reader: Reader<'a>,
    at: At,
    topic: TopicView<'a>,
}

/// The position within the two nested arrays.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Before the number of topics.
    Start,
    /// Within a topic.
    Topic { topics_after: usize, partitions_left: usize },
    /// After the last topic, or after an error.
    End,
}

impl<'a> Iterator for Partitions<'a> {
    type Item = Result<PartitionView<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.at = At::End;
        }
        next
    }
}

impl<'a> Partitions<'a> {
    fn advance(&mut self) -> Result<Option<PartitionView<'a>>, WireError> {
        loop {
            self.at = match self.at {
                At::End => return Ok(None),
                At::Start => {
                    let topics = self.read_count(TOPIC_SIZE_MIN)?;
                    self.enter_topic(topics)?
                }
                At::Topic { topics_after, partitions_left: 0 } => {
                    self.skip_tags()?;
                    self.enter_topic(topics_after)?
                }
                At::Topic { topics_after, partitions_left } => {
                    let partitions_left = partitions_left.saturating_sub(1);
                    self.at = At::Topic { topics_after, partitions_left };
                    return self.read_partition().map(Some);
                }
            }
        }
    }

    /// Decodes the start of the next topic, or the end of the request after the last topic.
    fn enter_topic(&mut self, topics_left: usize) -> Result<At, WireError> {
        let Some(topics_after) = topics_left.checked_sub(1) else {
            self.skip_tags()?;
            return Ok(At::End);
        };
        self.topic = self.read_topic()?;
        let partitions_left = self.read_count(PARTITION_SIZE_MIN)?;
        Ok(At::Topic { topics_after, partitions_left })
    }

    fn read_topic(&mut self) -> Result<TopicView<'a>, WireError> {
        if self.reader.layout().version >= BY_ID_SINCE {
            return Ok(TopicView { name: "", id: TopicId::decode(&mut self.reader)? });
        }
        let name = self.reader.read_text()?.ok_or(WireError::UnexpectedNull)?;
        Ok(TopicView { name, id: TopicId::NONE })
    }

    fn read_partition(&mut self) -> Result<PartitionView<'a>, WireError> {
        let index = i32::decode(&mut self.reader)?;
        let records = match self.reader.read_length()? {
            None => None,
            Some(length) => {
                let start = self.reader.position();
                self.reader.take(length)?;
                Some(start..self.reader.position())
            }
        };
        self.skip_tags()?;
        Ok(PartitionView { topic: self.topic, index, records })
    }

    fn read_count(&mut self, min_size: usize) -> Result<usize, WireError> {
        self.reader.read_count(min_size)?.ok_or(WireError::UnexpectedNull)
    }

    fn skip_tags(&mut self) -> Result<(), WireError> {
        self.reader.read_tags(|_, _| Ok(false))
    }
}

/// The minimum size of a topic: an empty name, no partitions, no tags.
const TOPIC_SIZE_MIN: usize = 3;

/// The minimum size of a partition: its index, null, no tags.
const PARTITION_SIZE_MIN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::produce::{ProduceRequest, RequestPartition, RequestTopic};
    use crate::wire::sample::{Sample, Samples};
    use crate::wire::{ApiKey, Layout, Message, Records, RequestHeader, encode_request};

    type Row = (String, TopicId, i32, Option<Vec<u8>>);

    /// The partitions of a frame as the view returns them.
    fn viewed(frame: &[u8]) -> Result<Vec<Row>, WireError> {
        let (_, mut reader) = RequestHeader::decode(frame)?;
        let view = ProduceRequestView::decode(&mut reader)?;
        let row = |partition: PartitionView<'_>| {
            let records = partition.records.map(|range| frame.get(range).unwrap().to_vec());
            (partition.topic.name.to_owned(), partition.topic.id, partition.index, records)
        };
        view.partitions().map(|partition| partition.map(row)).collect()
    }

    fn rows(request: &ProduceRequest) -> Vec<Row> {
        let of_topic = |topic: &RequestTopic| {
            let row = |partition: &RequestPartition| match &partition.records {
                Records::Bytes(bytes) => {
                    (topic.name.clone(), topic.topic_id, partition.index, Some(bytes.to_vec()))
                }
                _ => (topic.name.clone(), topic.topic_id, partition.index, None),
            };
            topic.partitions.iter().map(row).collect::<Vec<_>>()
        };
        request.topics.iter().flat_map(of_topic).collect()
    }

    /// A request without its length prefix.
    fn frame(version: i16, seed: u64) -> (ProduceRequest, Vec<u8>) {
        let layout = Layout::of(ApiKey::Produce, version);
        let request = ProduceRequest::sample(&mut Samples::new(seed, layout));
        let frame = encode_request(1, "tester", version, &request).unwrap().into_bytes();
        (request, frame.slice(4..).to_vec())
    }

    #[test]
    fn the_view_finds_what_the_owned_decoder_finds() {
        for (version, seed) in ProduceRequest::VERSIONS.flat_map(|v| (0..50).map(move |s| (v, s))) {
            let (request, frame) = frame(version, seed);
            assert_eq!(viewed(&frame), Ok(rows(&request)), "version {version} seed {seed}");
            let (header, mut reader) = RequestHeader::decode(&frame).unwrap();
            let view = ProduceRequestView::decode(&mut reader.clone()).unwrap();
            assert_eq!(view.transactional_id, request.transactional_id.as_deref());
            assert_eq!((view.acks, view.timeout_ms), (request.acks, request.timeout_ms));
            assert_eq!(header.decode_body(&mut reader), Ok(request));
        }
    }

    #[test]
    fn a_request_cut_short_is_refused_before_its_end_is_reached() {
        for (version, seed) in ProduceRequest::VERSIONS.flat_map(|v| (0..4).map(move |s| (v, s))) {
            let (_, frame) = frame(version, seed);
            for length in 0..frame.len() {
                let cut = viewed(frame.get(..length).unwrap());
                assert!(cut.is_err(), "version {version} seed {seed} cut to {length}: {cut:?}");
            }
        }
    }

    #[test]
    fn an_error_ends_the_iteration() {
        let (_, mut frame) = frame(3, 2);
        frame.truncate(frame.len() - 1);
        let (_, mut reader) = RequestHeader::decode(&frame).unwrap();
        let view = ProduceRequestView::decode(&mut reader).unwrap();
        assert_eq!(view.partitions().filter(Result::is_err).count(), 1);
    }
}
