//! Produce responses, encoded one after another into one buffer.
//!
//! A producer that pipelines gets many responses at once. They are encoded without intermediate
//! values: the caller passes topics and partitions as it has them, and nothing is allocated per
//! response.

use bytes::Bytes;

use super::message::{BY_ID_SINCE, Partition, ProduceRequest};
use super::view::TopicView;
use crate::wire::frame::write_response;
use crate::wire::structure::tag;
use crate::wire::{Layout, NodeEndpoint, Wire, WireError, Writer};

/// Encoded produce responses, to be sent together.
#[derive(Debug)]
pub struct ProduceAnswers {
    writer: Writer,
}

impl ProduceAnswers {
    /// Creates an empty buffer with space for about this many responses.
    pub fn with_capacity_for(answers: usize) -> Self {
        let mut writer = Writer::new(Layout::classic(0));
        writer.reserve(answers.saturating_mul(SIZE_EXPECTED));
        Self { writer }
    }

    /// Adds the response to one request: its topics, each with its partitions, and the addresses of
    /// the leaders that they name.
    ///
    /// # Errors
    /// For an unsupported version.
    pub fn push<'a, P>(
        &mut self,
        correlation_id: i32,
        version: i16,
        topics: impl Iterator<Item = (TopicView<'a>, P)> + Clone,
        endpoints: &Vec<NodeEndpoint>,
    ) -> Result<(), WireError>
    where
        P: ExactSizeIterator<Item = Partition>,
    {
        let has_endpoints = version >= ENDPOINTS_SINCE && !endpoints.is_empty();
        write_response::<ProduceRequest>(&mut self.writer, correlation_id, version, |writer| {
            writer.write_length(Some(topics.clone().count()));
            for (topic, partitions) in topics {
                if version >= BY_ID_SINCE {
                    topic.id.encode(writer);
                } else {
                    writer.write_text(Some(topic.name));
                }
                writer.write_length(Some(partitions.len()));
                partitions.for_each(|partition| partition.encode(writer));
                writer.write_tags(&[]);
            }
            // The throttle time: clients are never throttled.
            0_i32.encode(writer);
            writer.write_tags(&[tag(0, endpoints, has_endpoints, writer.layout())]);
        })
    }

    /// The responses as one buffer, or the error of the first value that did not fit.
    pub fn finish(self) -> Result<Bytes, WireError> {
        self.writer.finish()
    }
}

/// The first version with the addresses of leaders.
const ENDPOINTS_SINCE: i16 = 10;

/// The approximate size of a response: one partition of a topic with a short name.
const SIZE_EXPECTED: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::produce::{ProduceResponse, Topic};
    use crate::wire::sample::{Sample, Samples};
    use crate::wire::{ApiKey, Message, encode_response};

    #[test]
    fn answers_are_encoded_like_single_responses() {
        for version in ProduceRequest::VERSIONS {
            let mut answers = ProduceAnswers::with_capacity_for(0);
            let mut expected = Vec::new();
            for seed in 0..50 {
                let layout = Layout::of(ApiKey::Produce, version);
                let topics = Vec::<Topic>::sample(&mut Samples::new(seed, layout));
                let rows = topics.iter().map(|t| {
                    let view = TopicView { name: &t.name, id: t.topic_id };
                    (view, t.partitions.iter().cloned())
                });
                let node_endpoints = Vec::<NodeEndpoint>::sample(&mut Samples::new(seed, layout));
                answers.push(7, version, rows, &node_endpoints).unwrap();
                let topics = topics.clone();
                let response = ProduceResponse { topics, node_endpoints, ..Default::default() };
                let frame = encode_response::<ProduceRequest>(7, version, &response).unwrap();
                expected.extend_from_slice(&frame.into_bytes());
            }
            assert_eq!(answers.finish().unwrap(), expected, "version {version}");
        }
    }
}
