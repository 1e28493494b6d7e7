//! Topics whose offsets count bytes, as clients see them.

use std::time::Duration;

use streamlog::client::{
    Client, ClientConfig, ConsumerConfig, ProducerConfig, ProducerRecord, Start,
};
use streamlog::config::ByteSize;
use streamlog::record::Compression;
use streamlog::types::Offset;
use streamlog::wire::ErrorCode;
use streamlog::wire::alter_configs::{self, AlterConfigsRequest};
use streamlog::wire::create_topics::{self, CreateTopicsRequest};
use streamlog::wire::delete_records::{self, DeleteRecordsRequest};
use streamlog::wire::describe_configs::{RESOURCE_TOPIC, SOURCE_DEFAULT, SOURCE_TOPIC};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::list_offsets::{self, EARLIEST, LATEST, ListOffsetsRequest, MAX_TIMESTAMP};
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};

use crate::support::{
    Connection, LocalBroker, TOPIC, accepted, batch, once_loaded, packed_batch, set_topic,
    topic_setting, values,
};

/// A broker whose new topics count bytes.
const BY_BYTES: &[(&str, &str)] = &[("offset.unit", "byte"), ("offsets.topic.num.partitions", "1")];

const GROUP: &str = "readers";

fn length(batch: &[u8]) -> i64 {
    i64::try_from(batch.len()).unwrap()
}

/// The timestamp and the offset that `ListOffsets` returns for a timestamp or a constant.
fn listed(client: &mut Connection, timestamp: i64) -> (i64, i64) {
    let partition = list_offsets::RequestPartition { timestamp, ..Default::default() };
    let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
    let found = &client.call(7, &request).unwrap().topics[0].partitions[0];
    assert_eq!(found.error_code, ErrorCode::None);
    (found.timestamp, found.offset)
}

/// Stores an offset for the group.
fn commit(client: &mut Connection, committed_offset: i64) {
    let find = FindCoordinatorRequest { key: GROUP.to_owned(), ..Default::default() };
    let partition = offset_commit::RequestPartition { committed_offset, ..Default::default() };
    let topic = offset_commit::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        topics: vec![topic],
        ..Default::default()
    };
    client.call(3, &find).unwrap();
    let answered = once_loaded(|| {
        let answered = client.call(8, &request).unwrap();
        accepted(answered.topics[0].partitions[0].error_code)
    });
    assert_eq!(answered, Ok(()));
}

fn committed(client: &mut Connection) -> i64 {
    let topic = offset_fetch::RequestTopic {
        name: TOPIC.to_owned(),
        partition_indexes: vec![0],
        ..Default::default()
    };
    let request = OffsetFetchRequest {
        group_id: GROUP.to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let answered = once_loaded(|| {
        let answered = client.call(7, &request).unwrap();
        accepted(answered.error_code).map(|()| answered)
    });
    answered.unwrap().topics[0].partitions[0].committed_offset
}

/// Reads up to `count` numbers as some clients do: the next fetch is at the offset after the last
/// record, wherever that is, and records before the requested offset are skipped.
fn step(client: &mut Connection, mut offset: i64, count: usize) -> (Vec<u64>, i64) {
    let mut read = Vec::new();
    loop {
        client.send_fetch(offset, Duration::ZERO).unwrap();
        let fetched = client.receive_records().unwrap();
        assert_eq!(fetched.error_code, ErrorCode::None, "at {offset}");
        let new: Vec<_> =
            values(&fetched.records).into_iter().filter(|(at, _)| *at >= offset).collect();
        if new.is_empty() {
            return (read, offset);
        }
        for (at, number) in new {
            read.push(number);
            offset = at + 1;
            if read.len() == count {
                return (read, offset);
            }
        }
    }
}

#[test]
fn a_reader_that_steps_from_record_to_record_loses_and_repeats_nothing() {
    let mut broker = LocalBroker::new(1, BY_BYTES);
    let mut client = broker.connect();
    let (mut count, mut end) = (0, 0);
    for round in 0..8 {
        for codec in Compression::ALL {
            for size in [1, 3, 40 + round] {
                let sent = packed_batch(count..count + size, codec);
                assert_eq!(client.produce(sent.clone(), -1).unwrap(), Ok(end));
                end += length(&sent);
                count += size;
            }
        }
    }
    let mut read = Vec::new();
    commit(&mut client, 0);
    // Odd, so that most commits fall within a batch.
    for turn in 0.. {
        let mut client = broker.connect();
        let from = committed(&mut client);
        let (new, next) = step(&mut client, from, 17 + turn % 5);
        if new.is_empty() {
            assert!(next < end, "the last offset is behind the last record");
            break;
        }
        read.extend(new);
        commit(&mut client, next);
        if turn % 20 == 7 {
            drop(client);
            let disk = if turn % 40 == 7 { broker.stop().unwrap() } else { broker.cut_power(7) };
            broker = LocalBroker::on(disk, &[]).unwrap();
        }
    }
    assert!(read.into_iter().eq(0..count));
}

#[test]
fn a_fetch_behind_the_last_record_waits_for_the_next_one() {
    let broker = LocalBroker::new(2, BY_BYTES);
    let mut client = broker.connect();
    let mut end = 0;
    // Just after the records, just before the end, at the end.
    for behind in [|_| 2, |size| size - 1, |size| size] {
        let size = length(&batch([1, 2]));
        assert_eq!(client.produce(batch([1, 2]), 1).unwrap(), Ok(end));
        let mut reader = broker.connect();
        reader.send_fetch(end + behind(size), Duration::from_secs(15)).unwrap();
        assert!(reader.is_silent_for(Duration::from_millis(100)));
        end += size;
        assert_eq!(client.produce(batch([3]), 1).unwrap(), Ok(end));
        let fetched = reader.receive_records().unwrap();
        assert_eq!(values(&fetched.records), [(end, 3)]);
        end += length(&batch([3]));
        assert_eq!(fetched.high_watermark, end);
    }
}

#[test]
fn ends_are_positions_and_times_lead_to_records() {
    let broker = LocalBroker::new(3, BY_BYTES);
    let mut client = broker.connect();
    let sent = [batch([1, 2, 3]), batch([4]), packed_batch(5..90, Compression::Zstd)];
    for batch in sent.clone() {
        client.produce(batch, 1).unwrap().unwrap();
    }
    let end: i64 = sent.iter().map(|batch| length(batch)).sum();
    assert_eq!(listed(&mut client, EARLIEST), (-1, 0));
    assert_eq!(listed(&mut client, LATEST), (-1, end));
    // All have the timestamp of `batch`.
    let time = 1_700_000_000_000;
    assert_eq!(listed(&mut client, MAX_TIMESTAMP), (time, 0));
    assert_eq!(listed(&mut client, time), (time, 0));
    assert_eq!(listed(&mut client, time + 1), (-1, -1));
    // The log starts after the records of its first batch: the first record is the second's.
    let (first, second) = (length(&sent[0]), length(&sent[1]));
    assert_eq!(delete_before(&mut client, first - 1), first - 1);
    assert_eq!(listed(&mut client, EARLIEST), (-1, first - 1));
    assert_eq!(listed(&mut client, MAX_TIMESTAMP), (time, first));
    let (read, next) = step(&mut client, first - 1, usize::MAX);
    assert!(read.into_iter().eq(4..90));
    assert_eq!(next, first + second + 85);
}

/// Deletes the records before an offset, and returns the new log start.
fn delete_before(client: &mut Connection, offset: i64) -> i64 {
    let partition = delete_records::RequestPartition { offset, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 9_000 };
    let deleted = &client.call(2, &request).unwrap().topics[0].partitions[0];
    assert_eq!(deleted.error_code, ErrorCode::None);
    deleted.low_watermark
}

/// Creates a topic with these settings; returns the error code and the message.
fn create(client: &mut Connection, name: &str, settings: &[(&str, &str)]) -> (ErrorCode, String) {
    let setting = |(name, value): &(&str, &str)| create_topics::RequestConfig {
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
    };
    let topic = create_topics::RequestTopic {
        name: name.to_owned(),
        num_partitions: 1,
        replication_factor: 1,
        configs: settings.iter().map(setting).collect(),
        ..Default::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let made = client.call(7, &request).unwrap().topics.remove(0);
    (made.error_code, made.error_message.unwrap_or_default())
}

#[test]
fn a_topic_keeps_its_offset_unit_when_the_default_changes() {
    let unit = |client: &mut Connection, topic| topic_setting(client, topic, "offset.unit");
    let (by_bytes, by_records) =
        (("byte".to_owned(), SOURCE_TOPIC), ("record".to_owned(), SOURCE_DEFAULT));
    let broker = LocalBroker::new(4, BY_BYTES);
    let mut client = broker.connect();
    assert_eq!(create(&mut client, "bytes", &[]).0, ErrorCode::None);
    let said = [("offset.unit", "record")];
    assert_eq!(create(&mut client, "said", &said).0, ErrorCode::None);
    for topic in [TOPIC, "bytes"] {
        assert_eq!(unit(&mut client, topic), by_bytes, "{topic}");
    }
    drop(client);

    // The default has changed, and this log is created only now.
    let broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
    let mut client = broker.connect();
    assert_eq!(create(&mut client, "records", &[]).0, ErrorCode::None);
    assert_eq!(unit(&mut client, "records"), by_records);
    assert_eq!(unit(&mut client, "bytes"), by_bytes);
    client.produce(batch([1]), 1).unwrap().unwrap();
    assert_eq!(listed(&mut client, LATEST).1, length(&batch([1])));
    drop(client);

    let broker = LocalBroker::on(broker.stop().unwrap(), BY_BYTES).unwrap();
    let mut client = broker.connect();
    assert_eq!(unit(&mut client, "records"), by_records);
    assert_eq!(unit(&mut client, "said"), ("record".to_owned(), SOURCE_TOPIC));
    assert_eq!(client.produce(batch([2]), 1).unwrap(), Ok(length(&batch([1]))));
}

#[test]
fn the_offset_unit_cannot_be_changed_and_byte_offsets_exclude_compaction() {
    let broker = LocalBroker::new(5, BY_BYTES);
    let mut client = broker.connect();
    let refused = |(code, said): (ErrorCode, String), name: &str| {
        assert_eq!(code, ErrorCode::InvalidConfig);
        assert!(said.contains(name), "{said}");
    };
    refused(set_topic(&mut client, "offset.unit", "record"), "offset.unit");
    refused(set_topic(&mut client, "cleanup.policy", "compact"), "cleanup.policy");
    refused(create(&mut client, "c", &[("cleanup.policy", "compact")]), "cleanup.policy");
    assert_eq!(set_topic(&mut client, "offset.unit", "byte").0, ErrorCode::None);
    let compacted = [("cleanup.policy", "compact"), ("offset.unit", "record")];
    assert_eq!(create(&mut client, "c", &compacted).0, ErrorCode::None);
    // Everything else of the topic can be changed.
    assert_eq!(set_topic(&mut client, "retention.ms", "1000000").0, ErrorCode::None);
    assert_eq!(set_topic(&mut client, "compression.type", "zstd").0, ErrorCode::None);
    // Even all at once.
    let retention = Some("5000".to_owned());
    let config = alter_configs::RequestConfig { name: "retention.ms".to_owned(), value: retention };
    let resource = alter_configs::RequestResource {
        resource_type: RESOURCE_TOPIC,
        resource_name: TOPIC.to_owned(),
        configs: vec![config],
    };
    let request = AlterConfigsRequest { resources: vec![resource], validate_only: false };
    let answered = client.call(2, &request).unwrap();
    assert_eq!(answered.responses[0].error_code, ErrorCode::None);
    for (name, value) in
        [("retention.ms", "5000"), ("offset.unit", "byte"), ("compression.type", "producer")]
    {
        assert_eq!(topic_setting(&mut client, TOPIC, name).0, value, "{name}");
    }
}

#[test]
fn our_client_reads_commits_and_seeks_in_bytes() {
    let broker = LocalBroker::new(6, BY_BYTES);
    let bootstrap = vec![broker.address().to_string().parse().unwrap()];
    let client = Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap();
    let number = |message: &streamlog::client::Message| -> u64 {
        std::str::from_utf8(message.value().unwrap()).unwrap().parse().unwrap()
    };
    for compression in Compression::ALL {
        let topic = format!("bytes-{compression}");
        let batch_size = ByteSize(700);
        let config = ProducerConfig { compression, batch_size, ..ProducerConfig::default() };
        let producer = client.producer(config).unwrap();
        for number in 0..3_000_u64 {
            let value = number.to_string();
            let value = Some(value.as_bytes());
            let record = ProducerRecord { topic: &topic, value, ..ProducerRecord::default() };
            producer.send(&record).unwrap();
        }
        producer.close(Some(Duration::from_secs(30))).unwrap();
        let consumer = client.consumer(&[&topic], ConsumerConfig::default()).unwrap();
        let read: Vec<_> = consumer.until_end().unwrap().map(Result::unwrap).collect();
        assert!(read.iter().map(number).eq(0..3_000), "{compression}");
        let ends = client.consumer(&[&topic], ConsumerConfig::default()).unwrap().end_offsets();
        assert_eq!(consumer.positions()[0].1, ends.unwrap()[0].offset, "{compression}: no lag");
        for place in [1, 777, 2_998] {
            let next = Offset::new(read[place].offset().get() + 1);
            consumer.seek_all(Start::Offset(next)).unwrap();
            let message = consumer.next(Some(Duration::from_secs(10))).unwrap().unwrap();
            assert_eq!(number(&message), number(&read[place + 1]), "{compression}");
        }
    }
}
