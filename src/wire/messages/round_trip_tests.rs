//! Every API in every version: round trips, truncated messages, and hostile input.

use std::fmt::Debug;

use bytes::Bytes;

use super::*;
use crate::types::seeds;
use crate::wire::sample::{Sample, Samples};
use crate::wire::{Layout, Message, Reader, Wire, WireError, Writer};

const SEEDS: u64 = 40;

fn encode(value: &impl Wire, layout: Layout) -> Bytes {
    let mut writer = Writer::new(layout);
    value.encode(&mut writer);
    writer.finish().unwrap()
}

/// Decodes a value; returns it with the number of bytes left.
fn decode<T: Wire>(bytes: &[u8], layout: Layout) -> Result<(T, usize), WireError> {
    let mut reader = Reader::new(bytes, layout);
    let value = T::decode(&mut reader)?;
    Ok((value, reader.remaining()))
}

trait Tested: Wire + Sample + Default + PartialEq + Debug {}

impl<T: Wire + Sample + Default + PartialEq + Debug> Tested for T {}

/// Checks a property of every message in every version.
trait Fact {
    fn check<T: Tested>(layout: Layout, name: &str);
}

fn holds_for_every_message<F: Fact>() {
    holds_for::<F, AlterConfigsRequest>();
    holds_for::<F, AlterPartitionReassignmentsRequest>();
    holds_for::<F, ApiVersionsRequest>();
    holds_for::<F, CreateAclsRequest>();
    holds_for::<F, CreatePartitionsRequest>();
    holds_for::<F, CreateTopicsRequest>();
    holds_for::<F, DeleteAclsRequest>();
    holds_for::<F, DeleteGroupsRequest>();
    holds_for::<F, DeleteRecordsRequest>();
    holds_for::<F, DeleteTopicsRequest>();
    holds_for::<F, DescribeAclsRequest>();
    holds_for::<F, DescribeClientQuotasRequest>();
    holds_for::<F, DescribeClusterRequest>();
    holds_for::<F, DescribeConfigsRequest>();
    holds_for::<F, DescribeGroupsRequest>();
    holds_for::<F, DescribeLogDirsRequest>();
    holds_for::<F, DescribeProducersRequest>();
    holds_for::<F, DescribeTopicPartitionsRequest>();
    holds_for::<F, DescribeUserScramCredentialsRequest>();
    holds_for::<F, ElectLeadersRequest>();
    holds_for::<F, FetchRequest>();
    holds_for::<F, FindCoordinatorRequest>();
    holds_for::<F, HeartbeatRequest>();
    holds_for::<F, IncrementalAlterConfigsRequest>();
    holds_for::<F, InitProducerIdRequest>();
    holds_for::<F, JoinGroupRequest>();
    holds_for::<F, LeaveGroupRequest>();
    holds_for::<F, ListConfigResourcesRequest>();
    holds_for::<F, ListGroupsRequest>();
    holds_for::<F, ListOffsetsRequest>();
    holds_for::<F, ListPartitionReassignmentsRequest>();
    holds_for::<F, MetadataRequest>();
    holds_for::<F, OffsetCommitRequest>();
    holds_for::<F, OffsetDeleteRequest>();
    holds_for::<F, OffsetFetchRequest>();
    holds_for::<F, OffsetForLeaderEpochRequest>();
    holds_for::<F, ProduceRequest>();
    holds_for::<F, SyncGroupRequest>();
    holds_for::<F, UnregisterBrokerRequest>();
}

fn holds_for<F: Fact, R: Message<Response: Tested> + Tested>() {
    for version in R::VERSIONS {
        let layout = Layout::of(R::KEY, version);
        F::check::<R>(layout, &format!("{} request v{version}", R::KEY));
        F::check::<R::Response>(layout, &format!("{} response v{version}", R::KEY));
    }
}

#[test]
fn every_message_survives_a_round_trip() {
    struct ComesBack;
    impl Fact for ComesBack {
        fn check<T: Tested>(layout: Layout, name: &str) {
            for seed in seeds(SEEDS) {
                let value = T::sample(&mut Samples::new(seed, layout));
                let bytes = encode(&value, layout);
                let (back, unread) = decode::<T>(&bytes, layout).unwrap();
                assert_eq!(back, value, "{name} seed {seed}");
                assert_eq!(unread, 0, "{name} seed {seed}");
                assert!(bytes.len() >= T::min_size(layout), "{name} seed {seed}");
            }
        }
    }
    holds_for_every_message::<ComesBack>();
}

#[test]
fn fields_missing_in_a_version_are_decoded_as_defaults() {
    struct DefaultComesBack;
    impl Fact for DefaultComesBack {
        fn check<T: Tested>(layout: Layout, name: &str) {
            let (back, unread) = decode::<T>(&encode(&T::default(), layout), layout).unwrap();
            assert_eq!(back, T::default(), "{name}");
            assert_eq!(unread, 0, "{name}");
        }
    }
    holds_for_every_message::<DefaultComesBack>();
}

#[test]
fn a_message_cut_short_is_refused() {
    struct FailsWhenCut;
    impl Fact for FailsWhenCut {
        fn check<T: Tested>(layout: Layout, name: &str) {
            for seed in seeds(SEEDS / 10) {
                let bytes = encode(&T::sample(&mut Samples::new(seed, layout)), layout);
                for length in 0..bytes.len() {
                    let cut = decode::<T>(bytes.get(..length).unwrap(), layout);
                    assert!(cut.is_err(), "{name} seed {seed} cut to {length}: {cut:?}");
                }
            }
        }
    }
    holds_for_every_message::<FailsWhenCut>();
}

/// Writes every false length at every position of a message, since a length may be anywhere.
#[test]
fn a_false_length_is_refused_or_decoded_as_another_value() {
    struct SurvivesLies;
    impl Fact for SurvivesLies {
        fn check<T: Tested>(layout: Layout, name: &str) {
            let lies: [&[u8]; 7] = [
                &i32::MAX.to_be_bytes(),
                &i32::MIN.to_be_bytes(),
                &(-1_i32).to_be_bytes(),
                &(-2_i32).to_be_bytes(),
                &i16::MAX.to_be_bytes(),
                &[0xff, 0xff, 0xff, 0xff, 0x0f],
                &[0xff, 0xff, 0xff, 0xff, 0xff],
            ];
            for seed in seeds(SEEDS / 10) {
                let bytes = encode(&T::sample(&mut Samples::new(seed, layout)), layout);
                for (at, lie) in (0..bytes.len()).flat_map(|at| lies.map(|lie| (at, lie))) {
                    let mut bent = bytes.to_vec();
                    bent.splice(at..bytes.len().min(at + lie.len()), lie.iter().copied());
                    reads_the_same_again::<T>(&bent, layout, name);
                }
            }
        }
    }
    holds_for_every_message::<SurvivesLies>();
}

#[test]
fn noise_is_refused_or_decoded_as_another_value() {
    struct SurvivesNoise;
    impl Fact for SurvivesNoise {
        fn check<T: Tested>(layout: Layout, name: &str) {
            for seed in seeds(10 * SEEDS) {
                let mut samples = Samples::new(seed, layout);
                let length = samples.below(300);
                // Small numbers are valid lengths more often than arbitrary bytes.
                let byte = |samples: &mut Samples| match samples.below(3) {
                    0 => samples.next().to_be_bytes()[0],
                    _ => u8::try_from(samples.below(4)).unwrap(),
                };
                let noise: Vec<u8> = (0..length).map(|_| byte(&mut samples)).collect();
                reads_the_same_again::<T>(&noise, layout, name);
            }
        }
    }
    holds_for_every_message::<SurvivesNoise>();
}

/// An element may take one byte in the message and 24 bytes in memory; nested arrays multiply the
/// factor.
#[test]
fn millions_of_empty_texts_do_not_become_gigabytes() {
    let layout = Layout { version: 0, flexible: true };
    let texts = |text: &str| encode(&vec![text.to_owned(); 1 << 16], layout);
    assert!(decode::<Vec<String>>(&texts("t"), layout).is_ok());
    let empty = texts("");
    assert_eq!(decode::<Vec<String>>(&empty, layout), Err(WireError::TooDense(empty.len())));
}

/// Checks that a decoded value decodes equally after encoding it again.
fn reads_the_same_again<T: Tested>(bytes: &[u8], layout: Layout, name: &str) {
    if let Ok((value, _)) = decode::<T>(bytes, layout) {
        let (again, _) = decode::<T>(&encode(&value, layout), layout).unwrap();
        assert_eq!(again, value, "{name} {bytes:?}");
    }
}
