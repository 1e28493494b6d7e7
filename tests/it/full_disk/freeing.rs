//! Space that the broker frees on a full disk is available at once, whoever reads the files.

use std::time::Duration;

use streamlog::wire::fetch::{self, FetchRequest};

use super::station::Station;
use super::volume::{FileSystem, Volume};
use crate::support::{Connection, FETCH, TOPIC, batch};

/// The size of a volume with room for more than the buffers of a connection can hold.
const LARGE: u64 = 64 << 20;

/// A segment that no append of these tests fills, and the usual one of a station.
const LARGE_SEGMENT: &str = "33554432";
const USUAL_SEGMENT: &str = "49152";

/// The numbers in a batch of about 600 KB, and such batches: 24 MB.
const NUMBERS: u64 = 40_000;
const BATCHES: u64 = 40;

const PATIENCE: Duration = Duration::from_secs(20);

/// Asks for all records of the topic in one response.
fn ask_for_everything(reader: &mut Connection) {
    let partition = fetch::RequestPartition { partition_max_bytes: i32::MAX, ..Default::default() };
    let topic = fetch::RequestTopic {
        topic: TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = FetchRequest {
        max_wait_ms: 0,
        min_bytes: 1,
        max_bytes: i32::MAX,
        topics: vec![topic],
        ..Default::default()
    };
    reader.send(FETCH, &request).unwrap();
}

#[test]
fn the_size_limit_of_the_directory_makes_room_on_a_full_disk() {
    let mut station = Station::new(FileSystem::Ext4(4096));
    station.produce_some(3_000);
    station.volume.fill(0);
    station.produce_until_refused();
    station.check();
    station.stop();
    station.start_with(&[("data.dir.max.bytes", "2097152")]);
    station.wait_until_it_takes_records();
    station.check();
    assert!(station.log_bytes() <= 2 << 20, "{} bytes", station.log_bytes());
    station.stop();
}

#[test]
fn a_slow_reader_keeps_no_space_of_a_segment_that_retention_has_removed() {
    let mut station = Station::on(Volume::mount_sized(FileSystem::Ext4(4096), LARGE));
    station.set("segment.bytes", Some(LARGE_SEGMENT));
    let mut client = station.connect();
    for number in 0..BATCHES {
        let numbers = number * NUMBERS..(number + 1) * NUMBERS;
        client.produce(batch(numbers), -1).unwrap().unwrap();
    }
    station.set("segment.bytes", Some(USUAL_SEGMENT));
    station.produce_some(50);

    let mut reader = station.connect();
    ask_for_everything(&mut reader);
    assert!(!reader.is_silent_for(PATIENCE), "the response has begun");
    station.volume.fill(0);
    station.produce_until_refused();
    station.set("retention.bytes", Some("1"));
    station.wait_until_it_takes_records();
    station.check();

    let received = reader.finish().unwrap();
    let announced = u32::from_be_bytes(received[..4].try_into().unwrap()) as usize;
    assert!(announced > 20 << 20, "the response has {announced} bytes");
    assert!(received.len() < announced, "the reader was not in the middle of the segment");
    station.stop();
}
