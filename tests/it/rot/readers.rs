//! The project's own readers on a log with bit flips under a running broker: they return only
//! correct records, and report where those end.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use streamlog::client::{Client, ClientConfig, ClientError, Consumer, ConsumerConfig, Message};
use streamlog::embedded::{EngineConfig, Logs, Record, Start};
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, MemoryDisk, SystemClock};
use streamlog::types::{Offset, PartitionIndex, TopicPartition};

use super::{bytes_of, flip};
use crate::support::{LocalBroker, TOPIC, batch, set_topic};

const SEGMENT: &str = "/data/test-0/00000000000000000000.log";

/// The number of bits of a batch's header, and the end of its base offset.
const HEADER_BITS: usize = 61 * 8;
const BASE_OFFSET_BITS: usize = 8 * 8;

/// Three batches of four numbers each, the numbers being the offsets.
const BATCHES: u64 = 3;
const RECORDS: u64 = 4;

const PATIENCE: Duration = Duration::from_secs(20);

fn disk() -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), 1)
}

fn filled() -> LocalBroker {
    let broker = LocalBroker::with_topic(disk(), &[]);
    let mut connection = broker.connect();
    for number in 0..BATCHES {
        let numbers = RECORDS * number..RECORDS * (number + 1);
        connection.produce(batch(numbers), -1).unwrap().unwrap();
    }
    broker
}

fn client(broker: &LocalBroker) -> Client {
    let bootstrap = vec![broker.address().to_string().parse().unwrap()];
    Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap()
}

/// The bit of the second batch's header, counted from the start of the segment.
fn in_second_header(disk: &dyn Disk, bit: usize) -> usize {
    let size = bytes_of(disk, Path::new(SEGMENT)).len();
    size / usize::try_from(BATCHES).unwrap() * 8 + bit
}

/// The records that a consumer gets up to the end, and the error that stopped it earlier.
fn consumed(client: &Client, about: &str) -> (Vec<(i64, u64)>, Option<ClientError>) {
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let reading = consumer.until_end().unwrap();
    let mut found = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        match reading.next_within(Some(PATIENCE)) {
            Ok(Some(message)) => found.push((message.offset().get(), number(&message))),
            Ok(None) => {
                assert!(Instant::now() < deadline, "{about}: the reader stands at {}", found.len());
                return (found, None);
            }
            Err(error) => return (found, Some(error)),
        }
    }
}

fn number(message: &Message) -> u64 {
    u64::from_be_bytes(message.value().unwrap().try_into().unwrap())
}

/// Checks that every record is at its offset and none is missing in between; if the last are
/// missing, an error must report where the others end.
fn check(found: &[(i64, u64)], error: Option<&ClientError>, about: &str) {
    let right = (0..).zip(0..u64::try_from(found.len()).unwrap());
    assert!(found.iter().copied().eq(right), "{about}: {found:?}");
    let is_all = found.len() == usize::try_from(BATCHES * RECORDS).unwrap();
    match error {
        None => assert!(is_all, "{about}: ends without an error behind {found:?}"),
        Some(ClientError::Damaged { partition, offset, .. }) => {
            assert_eq!((partition.to_string().as_str(), offset.get()), ("test-0", 4), "{about}");
            assert_eq!(found.len(), 4, "{about}");
        }
        Some(error) => panic!("{about}: {error}"),
    }
}

#[test]
fn a_flipped_bit_of_a_base_offset_gives_a_consumer_no_wrong_offset() {
    let broker = filled();
    let client = client(&broker);
    let (found, error) = consumed(&client, "");
    check(&found, error.as_ref(), "before any flip");
    for bit in 0..BASE_OFFSET_BITS {
        let bit = in_second_header(&broker.disk, bit);
        flip(&broker.disk, Path::new(SEGMENT), bit);
        let about = format!("bit {bit}");
        let (found, error) = consumed(&client, &about);
        check(&found, error.as_ref(), &about);
        assert!(error.is_some(), "bit {bit}");
        flip(&broker.disk, Path::new(SEGMENT), bit);
    }
}

#[test]
fn a_flipped_bit_of_a_header_or_a_record_gives_a_consumer_no_wrong_record() {
    let broker = filled();
    let client = client(&broker);
    for bit in BASE_OFFSET_BITS..HEADER_BITS + 128 {
        let bit = in_second_header(&broker.disk, bit);
        flip(&broker.disk, Path::new(SEGMENT), bit);
        let about = format!("bit {bit}");
        let (found, error) = consumed(&client, &about);
        check(&found, error.as_ref(), &about);
        flip(&broker.disk, Path::new(SEGMENT), bit);
    }
}

fn consume(broker: &LocalBroker, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["consume", TOPIC, "--no-follow", "-f", "%o\\n"]).args(arguments);
    command.env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

#[test]
fn a_command_that_printed_only_some_records_says_so_and_how_to_continue() {
    let broker = filled();
    assert_eq!(consume(&broker, &[]).status.code(), Some(0));
    // The lowest byte of the base offset, then a byte of a record.
    for bit in [60, HEADER_BITS + 40] {
        let bit = in_second_header(&broker.disk, bit);
        flip(&broker.disk, Path::new(SEGMENT), bit);
        let output = consume(&broker, &[]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n3\n");
        for told in ["test-0", "offset 4", "streamlog partition damage", "skip-damage test-0"] {
            assert!(words.contains(told), "{told}: {words}");
        }
        flip(&broker.disk, Path::new(SEGMENT), bit);
    }
}

#[test]
fn an_embedded_reader_gives_out_no_wrong_record() {
    let disk = disk();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let config = EngineConfig::at("/data");
    let logs = Logs::open_on(config, &shared, &clock).unwrap();
    logs.ensure_topic(TOPIC, 1, &[]).unwrap();
    let partition = logs.partition(TOPIC, 0).unwrap();
    for number in 0..BATCHES {
        let numbers = RECORDS * number..RECORDS * (number + 1);
        let values: Vec<String> = numbers.map(|number| format!("{number:03}")).collect();
        partition.append(values.iter().map(String::as_str)).unwrap().wait_flushed().unwrap();
    }
    for bit in 0..HEADER_BITS + 64 {
        let bit = in_second_header(&disk, bit);
        flip(&disk, Path::new(SEGMENT), bit);
        let read: Vec<_> = partition.read(Start::Earliest).unwrap().collect();
        let (good, bad): (Vec<_>, Vec<_>) = read.into_iter().partition(Result::is_ok);
        let good: Vec<Record> = good.into_iter().map(Result::unwrap).collect();
        for (offset, record) in (0..).zip(&good) {
            let value = record.value.as_deref().unwrap();
            assert_eq!(record.offset, Offset::new(offset), "bit {bit}");
            assert_eq!(value, format!("{offset:03}").as_bytes(), "bit {bit}");
        }
        let is_all = good.len() == usize::try_from(BATCHES * RECORDS).unwrap();
        assert!(is_all || bad.len() == 1 && good.len() == 4, "bit {bit}: {good:?} {bad:?}");
        flip(&disk, Path::new(SEGMENT), bit);
    }
    logs.close().unwrap();
}

#[test]
fn gaps_in_a_topic_that_was_compacted_earlier_stop_no_reader() {
    let settings = [
        ("log.cleaner.backoff.ms", "20"),
        ("log.segment.bytes", "1024"),
        ("log.segment.delete.delay.ms", "0"),
        ("log.cleanup.policy", "compact"),
        ("log.cleaner.min.cleanable.ratio", "0.01"),
    ];
    let broker = LocalBroker::with_topic(disk(), &settings);
    let client = client(&broker);
    let producer = client.producer(streamlog::client::ProducerConfig::default()).unwrap();
    for number in 0..120_u64 {
        let value = number.to_be_bytes();
        let record = streamlog::client::ProducerRecord {
            topic: TOPIC,
            key: Some(b"k"),
            value: Some(&value),
            ..streamlog::client::ProducerRecord::default()
        };
        producer.send(&record).unwrap();
        producer.flush(None).unwrap();
    }
    let deadline = Instant::now() + PATIENCE;
    let read = || consumed(&client, "");
    while read().0.len() > 60 {
        assert!(Instant::now() < deadline, "it is not compacted");
    }
    for policy in ["compact", "delete"] {
        set_topic(&mut broker.connect(), "cleanup.policy", policy);
        let (found, error) = read();
        assert!(error.is_none(), "{policy}: {error:?}");
        assert_eq!(found.last(), Some(&(119, 119)), "{policy}");
        assert!(found.len() <= 60 && found.is_sorted(), "{policy}: {found:?}");
    }
}

/// The next message of a consumer, or the error instead.
fn next(consumer: &Consumer) -> Result<(i64, u64), ClientError> {
    let message = consumer.next(Some(PATIENCE))?.unwrap();
    Ok((message.offset().get(), number(&message)))
}

#[test]
fn a_running_consumer_continues_after_damage_once_it_is_skipped() {
    // Damage a record and a base offset. The topic's log has no other gap.
    for bit in [HEADER_BITS + 40, 60] {
        let broker = filled();
        let client = client(&broker);
        let bit = in_second_header(&broker.disk, bit);
        let (byte, bit_of_byte) = (u64::try_from(bit / 8).unwrap(), u8::try_from(bit % 8).unwrap());
        broker.disk.flip_bit(Path::new(SEGMENT), byte, bit_of_byte).unwrap();
        let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
        for offset in 0..4 {
            assert_eq!(next(&consumer).unwrap(), (offset, u64::try_from(offset).unwrap()));
        }
        let error = next(&consumer).unwrap_err();
        assert!(matches!(error, ClientError::Damaged { offset, .. } if offset == Offset::new(4)));
        // The error is reported once.
        assert!(matches!(consumer.next(Some(Duration::from_secs(3))), Ok(None)));
        let partition =
            TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) };
        let skipped =
            client.admin().skip_damage(&partition, Offset::new(4)..Offset::new(8)).unwrap();
        assert_eq!(skipped.len(), 1);
        for offset in 8..12 {
            assert_eq!(next(&consumer).unwrap(), (offset, u64::try_from(offset).unwrap()));
        }
    }
}
