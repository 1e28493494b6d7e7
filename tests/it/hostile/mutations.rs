//! Well-formed requests with something broken in them: no panic, and every connection comes to its
//! end.

use std::collections::BTreeSet;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use streamlog::types::TopicId;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};
use streamlog::wire::{ApiVersionsRequest, ErrorCode};

use super::corpus::{broken, lying_frames};
use crate::support::{GoldenRequest, LocalBroker, Random, Witness, golden_requests};

/// The topic that the broken requests are about; the witness watches another.
const TOPIC: &str = "mutated";

/// Bits flipped in each request.
const FLIPS: usize = 64;

/// One of so many enumerated forms is sent.
const SHARE: usize = 16;

/// Bytes up to here may be a length, or a part of one.
const SHORT: u8 = 40;

/// Threads that send.
const SENDERS: usize = 2;

#[test]
fn no_broken_request_ends_the_broker_or_hangs() {
    let panics = count_panics_of_brokers();
    let settings = [("max.partitions.per.topic", "4"), ("offsets.topic.num.partitions", "1")];
    let broker = LocalBroker::new(1, &settings);
    let mut witness = Witness::of(&broker);
    let goldens = golden_requests(TOPIC, make_topic(&broker));
    every_served_api_is_there(&broker, &goldens);
    for golden in &goldens {
        assert!(!send(&broker, golden, &frame(&golden.body)).is_empty(), "{}", golden.name);
    }
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (broker, goldens, sent) = (&broker, &goldens, &sent);
            scope.spawn(move || {
                for (seed, golden) in (0_u64..).zip(goldens).skip(sender).step_by(SENDERS) {
                    for frame in mutations(golden, seed) {
                        send(broker, golden, &frame);
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    witness.sees_no_harm();
    assert_eq!(panics.load(Ordering::Relaxed), 0, "threads of a broker panicked");
    let sent = sent.into_inner();
    assert!(sent >= 30_000, "only {sent} broken requests were sent");
    broker.stop().unwrap();
}

/// Sends one frame and waits until the connection has ended, with a whole answer or none.
fn send(broker: &LocalBroker, golden: &GoldenRequest, frame: &[u8]) -> Vec<u8> {
    let mut connection = broker.connect();
    connection.send_bytes(frame).unwrap();
    let answer = connection
        .finish()
        .unwrap_or_else(|error| panic!("{}: {error} after {frame:02x?}", golden.name));
    if let Some((length, rest)) = answer.split_first_chunk() {
        let whole = u32::from_be_bytes(*length) as usize;
        assert_eq!(rest.len(), whole, "{} after {frame:02x?}", golden.name);
    }
    answer
}

/// The broken forms of a request that are sent: truncated at every byte, with a false frame length,
/// with every short length increased and decreased by one, and with flipped bits. Of the enumerated
/// forms, each request sends another share; the decoders themselves are tested with all of them.
fn mutations(golden: &GoldenRequest, seed: u64) -> Vec<Vec<u8>> {
    let body = &golden.body[..];
    let mut frames: Vec<Vec<u8>> = (0..body.len()).map(|length| frame(&body[..length])).collect();
    frames.extend(lying_frames(golden));
    let lengths = (0..body.len()).filter(|at| (1..=SHORT).contains(&body[*at]));
    for (at, difference) in lengths.flat_map(|at| [(at, 1), (at, u8::MAX)]) {
        let mut changed = body.to_vec();
        changed[at] = changed[at].wrapping_add(difference);
        frames.push(frame(&changed));
    }
    let mut random = Random::new(seed);
    frames.extend((0..FLIPS).map(|_| {
        let mut changed = body.to_vec();
        let bit = usize::try_from(random.below(body.len() as u64 * 8)).unwrap();
        changed[bit / 8] ^= 1 << (bit % 8);
        frame(&changed)
    }));
    let first = usize::try_from(random.below(SHARE as u64)).unwrap();
    frames.extend(broken(golden).skip(first).step_by(SHARE).map(|body| frame(&body)));
    frames
}

pub(super) fn frame(body: &[u8]) -> Vec<u8> {
    let length = i32::try_from(body.len()).unwrap();
    [&length.to_be_bytes()[..], body].concat()
}

/// Counts panics from now on, in the threads of any broker of this process.
fn count_panics_of_brokers() -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name().is_some_and(|name| name.starts_with("streamlog-")) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        report(info);
    }));
    count
}

fn make_topic(broker: &LocalBroker) -> TopicId {
    let topic = RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let made = broker.connect().call(12, &request).unwrap().topics.remove(0);
    assert_eq!(made.error_code, ErrorCode::None);
    made.topic_id
}

/// No API is left out, in no version.
fn every_served_api_is_there(broker: &LocalBroker, goldens: &[GoldenRequest]) {
    let request = ApiVersionsRequest {
        client_software_name: "test".to_owned(),
        client_software_version: "1".to_owned(),
        ..Default::default()
    };
    let served = broker.connect().call(4, &request).unwrap().api_keys;
    let key = |golden: &GoldenRequest| i16::from_be_bytes([golden.body[0], golden.body[1]]);
    let version = |golden: &GoldenRequest| i16::from_be_bytes([golden.body[2], golden.body[3]]);
    let there: BTreeSet<_> = goldens.iter().map(|golden| (key(golden), version(golden))).collect();
    for api in served {
        // Produce is advertised from 0 and served from 3.
        let first = if api.api_key == 0 { 3 } else { api.min_version };
        for version in first..=api.max_version {
            assert!(there.contains(&(api.api_key, version)), "{} {version}", api.api_key);
        }
    }
}
