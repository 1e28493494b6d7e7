//! A person looks at damage and goes on behind it: over the wire, and by the command line.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use streamlog::broker::{Broker, BrokerConfig, EngineConfig, Listener};
use streamlog::client::{Client, ClientConfig, NewTopic};
use streamlog::io::{Disk, OpenMode, read_text};
use streamlog::wire::delete_records::{self, DeleteRecordsRequest, OffsetRange};
use streamlog::wire::describe_log_dirs::DescribeLogDirsRequest;
use streamlog::wire::{ErrorCode, delete_records::Partition};

use crate::support::{Connection, LocalBroker, TOPIC, batch};

const LOG: &str = "/data/test-0/00000000000000000000.log";

/// A broker after a power cut, with the records 10 to 14, each a batch of its own, of which those
/// at these offsets were durable and are damaged now.
fn damaged(seed: u64, offsets: &[u64]) -> LocalBroker {
    let broker = LocalBroker::new(seed, &[]);
    let mut client = broker.connect();
    for number in 10..15 {
        client.produce(batch([number]), -1).unwrap().unwrap();
    }
    // Only what a checkpoint calls durable is damage; anything else would be a torn write.
    let checkpoint = Path::new("/data/durable-point-checkpoint");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !read_text(&broker.disk, checkpoint).is_ok_and(|text| text.contains("test 0 5")) {
        assert!(Instant::now() < deadline, "no checkpoint is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(client);
    let disk = broker.cut_power(seed);
    let size = batch([0]).len() as u64;
    assert_eq!(disk.open(Path::new(LOG), OpenMode::Read).unwrap().len().unwrap(), 5 * size);
    for offset in offsets {
        disk.flip_bit(Path::new(LOG), offset * size + 65, 3).unwrap();
    }
    LocalBroker::on(disk, &[]).unwrap()
}

fn fetch(client: &mut Connection, offset: i64) -> (ErrorCode, usize) {
    client.send_fetch(offset, Duration::ZERO).unwrap();
    let answered = client.receive_records().unwrap();
    (answered.error_code, answered.records.len())
}

/// The answer to a wish to skip, of a client that speaks this version.
fn skip(
    client: &mut Connection,
    version: i16,
    (first_offset, next_offset): (i64, i64),
) -> Partition {
    let skip_damage = OffsetRange { first_offset, next_offset };
    let partition = delete_records::RequestPartition { skip_damage, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5_000 };
    client.call(version, &request).unwrap().topics.remove(0).partitions.remove(0)
}

#[test]
fn readers_go_on_behind_damage_once_it_is_skipped_also_after_a_restart() {
    let broker = damaged(1, &[2]);
    let mut client = broker.connect();
    assert_eq!(fetch(&mut client, 2).0, ErrorCode::CorruptMessage);

    let unaware = skip(&mut client, 1, (2, 3));
    assert_eq!((unaware.error_code, unaware.low_watermark), (ErrorCode::None, 0), "no such field");
    assert_eq!(fetch(&mut client, 2).0, ErrorCode::CorruptMessage);

    let refused = skip(&mut client, 2, (3, 5));
    assert_eq!(refused.error_code, ErrorCode::InvalidRequest);
    let words = refused.error_message.unwrap();
    assert!(words.contains("offsets 3 to 5 of test-0") && words.contains("2 to 3"), "{words}");
    assert_eq!(skip(&mut client, 2, (-5, 3)).error_code, ErrorCode::InvalidRequest);

    let done = skip(&mut client, 2, (2, 3));
    assert_eq!((done.error_code, done.error_message), (ErrorCode::None, None));
    let [stretch] = done.skipped.as_slice() else { panic!("{:?}", done.skipped) };
    assert_eq!((stretch.first_offset, stretch.next_offset, stretch.unreadable_bytes), (2, 3, 0));
    assert!(broker.disk.exists(Path::new(&stretch.copy)).unwrap());
    let all = [(0, 10), (1, 11), (3, 13), (4, 14)];
    assert_eq!(client.read_from(0).unwrap(), all);
    assert_eq!(client.read_from(2).unwrap(), all[2..]);
    let audit = read_text(&broker.disk, Path::new("/data/audit.log")).unwrap();
    let [line] = audit.lines().collect::<Vec<_>>()[..] else { panic!("{audit}") };
    assert!(line.contains(" skip-damage test-0 offsets=2..3 segment=0 "), "{line}");
    assert!(line.contains("by=\"User:ANONYMOUS from 127.0.0.1:"), "{line}");

    drop(client);
    let mut disk = broker.stop().unwrap();
    for is_crash in [false, true] {
        let broker = LocalBroker::on(disk, &[]).unwrap();
        assert_eq!(broker.connect().read_from(0).unwrap(), all);
        disk = if is_crash { broker.cut_power(1) } else { broker.stop().unwrap() };
    }
    assert_eq!(LocalBroker::on(disk, &[]).unwrap().connect().read_from(2).unwrap(), all[2..]);
}

#[test]
fn damage_is_only_told_to_those_who_ask_for_it() {
    let broker = damaged(2, &[1]);
    let mut client = broker.connect();
    let mut ask = |version, with_damage| {
        let request = DescribeLogDirsRequest { with_damage, ..Default::default() };
        let mut dir = client.call(version, &request).unwrap().results.remove(0);
        dir.topics.remove(0).partitions.remove(0)
    };
    assert!(ask(4, false).damaged.is_empty());
    assert!(ask(1, true).damaged.is_empty(), "no such field");
    let told = ask(4, true).damaged;
    let [stretch] = told.as_slice() else { panic!("{told:?}") };
    let size = i64::try_from(batch([0]).len()).unwrap();
    assert_eq!((stretch.first_offset, stretch.next_offset, stretch.is_skipped), (1, 2, false));
    assert_eq!((stretch.start_position, stretch.end_position), (size, size * 2));
    assert_eq!(stretch.file, LOG);
}

/// The command line, run by somebody who has set the broker's address.
fn run(broker: &LocalBroker, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(arguments).env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

fn rows(broker: &LocalBroker, arguments: &[&str]) -> Vec<Value> {
    let output = run(broker, &[arguments, &["-o", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The exit status and the messages of a refused command.
fn refusal(broker: &LocalBroker, arguments: &[&str]) -> (i32, String) {
    let output = run(broker, arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_command_line_lists_damage_and_skips_it_when_told_twice() {
    let broker = damaged(3, &[1, 3]);
    let listed = rows(&broker, &["partition", "damage"]);
    let offsets = |row: &Value| (row["first_offset"].as_i64(), row["next_offset"].as_i64());
    let found: Vec<_> = listed.iter().map(offsets).collect();
    assert_eq!(found, [(Some(1), Some(2)), (Some(3), Some(4))]);
    assert_eq!((&listed[0]["topic"], &listed[0]["is_skipped"]), (&TOPIC.into(), &false.into()));
    for form in ["text", "yaml", "csv"] {
        let output = run(&broker, &["partition", "damage", TOPIC, "-o", form]);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains(LOG));
    }
    assert_eq!(refusal(&broker, &["partition", "damage", "tset"]).0, 5);

    let skip = |partition, from, to, more: &[&str]| {
        let range = ["partition", "skip-damage", partition, "--from", from, "--to", to];
        refusal(&broker, &[&range, more].concat())
    };
    let (code, words) = skip("test-0", "0", "5", &[]);
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("--yes") && words.contains("offsets 1 to 2 ("), "{words}");
    assert!(words.contains("offsets 3 to 4 (") && words.contains(LOG), "{words}");
    for (partition, from, to, code, word) in [
        ("test", "1", "2", 2, "orders-0"),
        ("test-9", "1", "2", 2, "1 partitions"),
        ("tset-0", "1", "2", 5, "tset"),
        ("test-0", "-1", "2", 2, "--from"),
        ("test-0", "2", "2", 2, "--to"),
        ("test-0", "2", "3", 1, "damaged are 1 to 2, 3 to 4"),
    ] {
        let (found, words) = skip(partition, from, to, &["--yes"]);
        assert!(found == code && words.contains(word), "{partition} {from} {to}: {found}, {words}");
    }

    let all = ["partition", "skip-damage", "test-0", "--from", "0", "--to", "5", "--yes"];
    let skipped = rows(&broker, &all);
    assert_eq!(skipped.iter().map(offsets).collect::<Vec<_>>(), found);
    for row in &skipped {
        assert!(broker.disk.exists(Path::new(row["copy"].as_str().unwrap())).unwrap());
    }
    let listed = rows(&broker, &["partition", "damage", TOPIC]);
    assert!(listed.iter().all(|row| row["is_skipped"] == true));
    let read = broker.connect().read_from(0).unwrap();
    assert_eq!(read, [(0, 10), (2, 12), (4, 14)]);
    let (code, words) = skip("test-0", "0", "5", &["--yes"]);
    assert!(code == 1 && words.contains("the log has none"), "{words}");
}

#[test]
fn rot_under_a_running_broker_is_found_though_nobody_reads() {
    let data = tempfile::TempDir::new().unwrap();
    let mut config = BrokerConfig {
        listeners: Listener::alone("127.0.0.1", 0),
        engine: EngineConfig::at(data.path()),
        shards: 1,
        ..BrokerConfig::default()
    };
    config.set([("log.scrub.interval.ms", "20")]).unwrap();
    let broker = Broker::start(config).unwrap();
    let bootstrap = vec![broker.address().to_string().parse().unwrap()];
    let admin =
        Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap().admin();
    admin.create_topic(TOPIC, &NewTopic::default()).unwrap();
    let mut client = Connection::open(broker.address()).unwrap();
    for number in 10..15 {
        client.produce(batch([number]), -1).unwrap().unwrap();
    }
    let file = data.path().join("test-0/00000000000000000000.log");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let at = 2 * batch([0]).len() as u64 + 65;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 8], at).unwrap();

    let deadline = Instant::now() + Duration::from_secs(30);
    let found = loop {
        let found = admin.damage().unwrap();
        if !found.is_empty() {
            break found;
        }
        assert!(Instant::now() < deadline, "nobody finds the rot");
        std::thread::sleep(Duration::from_millis(5));
    };
    let [stretch] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((stretch.first.get(), stretch.next.get(), stretch.is_skipped), (2, 3, false));
    assert_eq!(fetch(&mut client, 2).0, ErrorCode::CorruptMessage);
    assert_eq!(fetch(&mut client, 3).0, ErrorCode::None);
    let skipped = admin.skip_damage(&stretch.partition, stretch.first..stretch.next).unwrap();
    assert!(std::fs::exists(skipped[0].copy.as_ref().unwrap()).unwrap());
    let read = client.read_from(2).unwrap();
    assert_eq!(read, [(3, 13), (4, 14)]);
    client.produce(batch([15]), -1).unwrap().unwrap();
    broker.stop().unwrap();
}
