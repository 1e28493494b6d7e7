//! Good and bad produce requests that arrive together: answered one by one, in their order.

use bytes::Bytes;
use streamlog::wire::produce::{ProduceRequest, ProduceResponse, RequestPartition, RequestTopic};
use streamlog::wire::{ErrorCode, Records, encode_request};

use crate::support::{LocalBroker, Random, TOPIC, Witness, batch, seeds};

const VERSION: i16 = 9;
const PARTITIONS: i32 = 3;

/// One partition of a request.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// To append a batch of one number.
    Append(i32, u64),
    /// To append one whose checksum is wrong.
    Damaged(i32),
    /// To append to a partition there is not.
    Nowhere,
    /// To append nothing at all.
    Null(i32),
}

impl Asked {
    fn random(random: &mut Random, number: u64) -> Self {
        let partition = i32::try_from(random.below(3)).unwrap();
        match random.below(10) {
            0 => Self::Damaged(partition),
            1 => Self::Nowhere,
            2 => Self::Null(partition),
            _ => Self::Append(partition, number),
        }
    }

    fn partition(self) -> RequestPartition {
        let bytes = |batch: Vec<u8>| Records::Bytes(batch.into());
        let (index, records) = match self {
            Self::Append(index, number) => (index, bytes(batch([number]))),
            Self::Damaged(index) => {
                let mut damaged = batch([0]);
                *damaged.last_mut().unwrap() ^= 1;
                (index, bytes(damaged))
            }
            Self::Nowhere => (PARTITIONS, bytes(batch([0]))),
            Self::Null(index) => (index, Records::Null),
        };
        RequestPartition { index, records }
    }

    /// The answer, given how many batches each partition has; counts its own.
    fn expected(self, ends: &mut [i64]) -> (i32, ErrorCode, i64) {
        match self {
            Self::Append(index, _) => {
                let end = &mut ends[usize::try_from(index).unwrap()];
                *end += 1;
                (index, ErrorCode::None, *end - 1)
            }
            Self::Damaged(index) => (index, ErrorCode::CorruptMessage, -1),
            Self::Nowhere => (PARTITIONS, ErrorCode::UnknownTopicOrPartition, -1),
            Self::Null(index) => (index, ErrorCode::InvalidRecord, -1),
        }
    }
}

fn frame(asked: &[Asked], id: i32) -> Bytes {
    frame_with(1, asked, id)
}

fn frame_with(acks: i16, asked: &[Asked], id: i32) -> Bytes {
    let partitions = asked.iter().map(|asked| asked.partition()).collect();
    let topics = vec![RequestTopic { name: TOPIC.to_owned(), partitions, ..Default::default() }];
    let request = ProduceRequest { acks, timeout_ms: 9_000, topics, ..Default::default() };
    encode_request(id, "test", VERSION, &request).unwrap().into_bytes()
}

fn answers(response: &ProduceResponse) -> Vec<(i32, ErrorCode, i64)> {
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|p| (p.index, p.error_code, p.base_offset)).collect()
}

#[test]
fn requests_that_come_together_are_answered_as_if_they_came_one_by_one() {
    for seed in seeds(10) {
        let count = PARTITIONS.to_string();
        let caching = if seed % 2 == 0 { "true" } else { "false" };
        let settings = [("num.partitions", count.as_str()), ("write.caching", caching)];
        let broker = LocalBroker::new(seed, &settings);
        let mut random = Random::new(seed);
        let asked: Vec<Vec<Asked>> = (0..400)
            .map(|number| {
                (0..=random.below(3)).map(|_| Asked::random(&mut random, number)).collect()
            })
            .collect();
        let mut client = broker.connect();
        let frames: Vec<u8> =
            asked.iter().zip(1..).flat_map(|(asked, id)| frame(asked, id)).collect();
        client.send_bytes(&frames).unwrap();
        let mut ends = [0; 3];
        for request in &asked {
            let expected: Vec<_> = request.iter().map(|asked| asked.expected(&mut ends)).collect();
            let response = client.receive::<ProduceRequest>(VERSION).unwrap();
            assert_eq!(answers(&response), expected, "seed {seed}");
        }
        broker.stop().unwrap();
    }
}

/// A produce request of a version that is not served.
fn unserved() -> Vec<u8> {
    let mut frame = frame(&[Asked::Append(0, 8)], 3).to_vec();
    frame[6..8].copy_from_slice(&2_i16.to_be_bytes());
    frame
}

/// A produce request that ends inside its second partition.
fn cut_short() -> Vec<u8> {
    let mut frame = frame(&[Asked::Append(0, 8), Asked::Append(0, 9)], 3).to_vec();
    frame.truncate(frame.len() - 20);
    let length = i32::try_from(frame.len() - 4).unwrap();
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

#[test]
fn batches_that_come_together_with_a_malformed_request_are_stored() {
    for malformed in [unserved(), cut_short()] {
        let broker = LocalBroker::new(1, &[]);
        // From here on requests for the partition run ahead.
        let witness = Witness::of(&broker);
        let asked = |number| frame_with(0, &[Asked::Append(0, number)], 1);
        let mut client = broker.connect();
        client.send_bytes(&[&asked(1)[..], &asked(2)[..], &malformed].concat()).unwrap();
        assert_eq!(client.until_closed().unwrap(), b"");
        let mut other = broker.connect();
        assert_eq!(other.produce(batch([9]), 1).unwrap(), Ok(witness.end() + 2));
        let values: Vec<u64> =
            other.read_from(1).unwrap().into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [1, 2, 9]);
        broker.stop().unwrap();
    }
}
