//! The command line as people and scripts see it: processes, their output, their exit codes.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::TestBroker;

/// A broker, and commands with its address in their environment.
pub(super) struct CommandLine {
    broker: TestBroker,
}

impl CommandLine {
    pub(super) fn new() -> Self {
        Self { broker: TestBroker::start() }
    }

    /// The broker's address.
    pub(super) fn address(&self) -> String {
        self.broker.client_config().bootstrap[0].to_string()
    }

    /// Stops the broker, so that commands cannot connect.
    pub(super) fn stop(&mut self) {
        self.broker.stop();
    }

    /// Restarts the broker on the same data.
    pub(super) fn restart(&mut self) {
        self.broker.restart();
    }

    /// The broker's data directory.
    pub(super) fn data(&self) -> &Path {
        self.broker.data()
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "")
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
        command.args(arguments).env("STREAMLOG_BOOTSTRAP", self.address());
        command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
        command
    }

    pub(super) fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may exit before its input is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// The output of a successful command.
    pub(super) fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {words}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Its rows in JSON.
    pub(super) fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.text(&[arguments, &["-o", "json"]].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The exit code and the error of a failing command.
    pub(super) fn failure(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(output.stdout.is_empty(), "{arguments:?}");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn with_records(count: usize) -> Self {
        let command_line = Self::new();
        command_line.text(&["topic", "create", "t", "-p", "2"]);
        let lines: Vec<_> = (0..count).map(|number| format!("k{number}:v{number}")).collect();
        let produced =
            command_line.run_with(&["produce", "t", "-K", ":", "-z", "zstd"], &lines.join("\n"));
        assert_eq!(produced.status.code(), Some(0));
        command_line
    }
}

#[test]
fn a_topic_is_created_shown_changed_and_deleted() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "a", "b", "-p", "2", "-c", "retention.ms=1000"]);
    assert_eq!(command_line.text(&["topic", "list"]).lines().count(), 3);
    command_line.text(&[
        "topic",
        "alter",
        "a",
        "-p",
        "3",
        "-d",
        "retention.ms",
        "-c",
        "flush.ms=7",
    ]);
    assert_eq!(command_line.rows(&["topic", "describe", "a"]).len(), 3);
    let set = command_line.rows(&["config", "show", "topic/a"]);
    assert_eq!(
        (set.len(), &set[0]["name"], &set[0]["value"]),
        (1, &"flush.ms".into(), &"7".into())
    );
    command_line.text(&["config", "set", "topic/a", "flush.ms"]);
    assert!(command_line.rows(&["config", "show", "topic/a"]).is_empty());

    let (code, words) = command_line.failure(&["topic", "delete", "a", "b"]);
    assert!(code == 2 && words.contains("--yes"), "{words}");
    command_line.text(&["topic", "delete", "a", "b", "--yes"]);
    assert!(command_line.rows(&["topic", "list"]).is_empty());
}

#[test]
fn exit_codes_distinguish_kinds_of_failures() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t"]);
    assert_eq!(command_line.failure(&["topic", "create", "t"]).0, 5);
    command_line.text(&["topic", "create", "t", "--if-not-exists"]);
    assert_eq!(command_line.failure(&["topic", "describe", "missing"]).0, 5);
    assert_eq!(command_line.failure(&["consume", "missing", "-e"]).0, 5);
    assert_eq!(command_line.failure(&["topic", "lst"]).0, 2);
    assert_eq!(command_line.failure(&["consume", "t", "--from", "yesterday"]).0, 2);
    assert_eq!(command_line.failure(&["topic", "list", "-X", "lingr.ms=1"]).0, 2);
    assert_eq!(command_line.failure(&["topic", "alter", "t"]).0, 2);
    let (code, words) = command_line.failure(&["config", "show", "node/7"]);
    assert!(code == 5 && words.contains("there is no node 7; the cluster has 1"), "{words}");
    assert_eq!(command_line.failure(&["config", "set", "node/7", "num.partitions=2"]).0, 5);
    let (code, words) = command_line.failure(&["topic", "list", "-b", "127.0.0.1:1"]);
    assert!(code == 3 && words.contains("127.0.0.1:1"), "{words}");
    assert!(words.contains("`streamlog broker` starts one"), "{words}");
    let (code, words) = command_line.failure(&["topic", "create", "a", "b c"]);
    assert!(code == 2 && words.contains("\"b c\""), "{words}");
    assert_eq!(command_line.failure(&["topic", "describe", "a"]).0, 5, "nothing was created");
}

#[test]
fn a_missing_name_is_refused_at_once() {
    let command_line = CommandLine::new();
    let began = Instant::now();
    for command in
        [&["consume", "missing"][..], &["tail", "missing"], &["bench", "consume", "missing"]]
    {
        assert_eq!(command_line.failure(command).0, 5, "{command:?}");
    }
    assert_eq!(command_line.failure(&["config", "show", "node/7"]).0, 5);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_context_on_the_command_line_overrides_the_environment() {
    let command_line = CommandLine::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "[context.down]\nbootstrap.servers = '127.0.0.1:1'\n").unwrap();
    let code = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = command_line.command(&[&["topic", "list"], options].concat());
        command.env("STREAMLOG_CONFIG", &path).envs(variables.iter().copied());
        command.output().unwrap().status.code().unwrap()
    };
    assert_eq!(code(&[], &[]), 0);
    assert_eq!(code(&["--context", "down"], &[]), 3);
    assert_eq!(code(&[], &[("STREAMLOG_CONTEXT", "down")]), 0);
    let empty = [("STREAMLOG_BOOTSTRAP", ""), ("STREAMLOG_CONTEXT", "")];
    assert_ne!(code(&[], &empty), 2, "an empty variable counts as unset");
}

#[test]
fn records_consumed_as_json_can_be_produced_again() {
    let command_line = CommandLine::with_records(5);
    let json = command_line.text(&["consume", "t", "-e", "-o", "json"]);
    command_line.text(&["topic", "create", "copy"]);
    let told = command_line.run_with(&["produce", "copy", "--json", "-o", "csv"], &json);
    assert_eq!(String::from_utf8(told.stdout).unwrap().lines().count(), 6);
    let lines = |topic, format| {
        let text = command_line.text(&["consume", topic, "-e", "-f", format]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let pairs = lines("t", "%k=%s\\n");
    assert_eq!(pairs, ["k0=v0", "k1=v1", "k2=v2", "k3=v3", "k4=v4"]);
    let (everything, of_one_time) = ("%k=%s at %T\\n", r#"{"value": "v", "timestamp": 1234}"#);
    assert_eq!(lines("copy", everything), lines("t", everything));
    command_line.run_with(&["produce", "t", "--json"], of_one_time);
    assert!(lines("t", everything).contains(&"=v at 1234".to_owned()));
}

#[test]
fn large_json_lines_are_read_and_a_line_too_long_is_reported() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "copy", "-p", "1"]);
    for byte in [0xff, 0] {
        let mut value = tempfile::NamedTempFile::new().unwrap();
        value.write_all(&vec![byte; 800_000]).unwrap();
        command_line.text(&["produce", "t", "--file", value.path().to_str().unwrap()]);
    }
    let json = command_line.text(&["consume", "t", "-e", "-o", "json"]);
    let told = command_line.run_with(&["produce", "copy", "--json"], &json);
    assert_eq!(told.status.code(), Some(0), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(command_line.text(&["consume", "copy", "-e", "-f", "%S\\n"]), "800000\n800000\n");

    let command = ["produce", "copy", "--json", "-X", "max.request.size=1024"];
    let told = command_line.run_with(&command, &format!("{{}}\n{json}"));
    let words = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(1), "{words}");
    assert!(words.contains("line 2 of standard input") && words.contains("longer"), "{words}");
}

#[test]
fn records_before_an_invalid_line_are_delivered() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    for (last, words) in [("{", "EOF"), ("{\"valu\": \"c\"}", "unknown field `valu`")] {
        let lines = format!("{{\"value\": \"a\"}}\n{{\"key\": \"k\", \"value\": \"b\"}}\n{last}\n");
        let produced = command_line.run_with(&["produce", "t", "--json"], &lines);
        let said = String::from_utf8(produced.stderr).unwrap();
        assert_eq!(produced.status.code(), Some(1), "{said}");
        assert!(said.contains("line 3, column") && said.contains(words), "{said}");
        assert!(!said.contains("line 1"), "{said}");
    }
    let missing =
        command_line.run(&["produce", "t", "--file", "/dev/null", "--file", "/no/such/file"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(command_line.text(&["consume", "t", "-e"]), "a\nb\na\nb\n\n");
}

#[test]
fn a_failed_delivery_is_reported_before_an_invalid_line() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1", "-c", "max.message.bytes=200"]);
    let lines = format!("{{\"value\": \"{}\"}}\n{{\n", "a".repeat(1000));
    let produced = command_line.run_with(&["produce", "t", "--json"], &lines);
    let words = String::from_utf8(produced.stderr).unwrap();
    assert_eq!(produced.status.code(), Some(1), "{words}");
    let complaints: Vec<&str> = words.lines().collect();
    assert_eq!(complaints.len(), 2, "{words}");
    assert!(complaints[0].contains("1 records were not delivered"), "{words}");
    assert!(complaints[1].contains("line 2, column"), "{words}");
}

#[test]
fn reading_starts_and_ends_at_the_given_positions() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t"], "0\n1\n2\n3\n4\n");
    let read = |options: &[&str]| {
        command_line.text(&[&["consume", "t", "-e"], options].concat()).replace('\n', "")
    };
    assert_eq!(read(&[]), "01234");
    assert_eq!(read(&["--from", "3"]), "34");
    assert_eq!(read(&["--from", "-2"]), "34");
    assert_eq!(read(&["--from", "-1h"]), "01234");
    assert_eq!(read(&["--until", "2"]), "01");
    assert_eq!(read(&["--until", "-1", "--from", "1"]), "123");
    assert_eq!(read(&["-n", "2"]), "01");
    assert_eq!(read(&["--from", "latest"]), "");
    assert_eq!(read(&["--until", "-1h"]), "");
    assert_eq!(read(&["--until", "2100-01-01"]), "01234");
    assert_eq!(command_line.text(&["tail", "t", "-n", "3"]), "2\n3\n4\n");
}

#[test]
fn a_group_continues_after_the_records_written() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t"], "0\n1\n2\n3\n4\n5\n");
    let read = |options: &[&str]| {
        command_line.text(&[&["consume", "t", "-e", "-g", "g"], options].concat()).replace('\n', "")
    };
    assert_eq!(read(&["-n", "2"]), "01");
    assert_eq!(read(&["--until", "4"]), "23");
    assert_eq!(read(&["--until", "-1h"]), "");
    assert_eq!(read(&[]), "45");
}

#[test]
fn a_group_does_not_skip_records_that_could_not_be_written() {
    let command_line = CommandLine::with_records(500);
    let read = ["consume", "t", "-e", "-g", "g"];
    for options in [&[][..], &["-n", "450"], &["-f", "%s %s %s %s %s %s %s %s\\n"]] {
        let mut command = command_line.command(&[&read[..], options].concat());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("cannot write to standard output"), "{words}");
    }
    assert_eq!(command_line.text(&read).lines().count(), 500);
    assert_eq!(command_line.text(&read), "");
}

#[test]
fn a_relative_start_is_refused_for_a_group() {
    let read = ["consume", "t", "-g", "g", "-e", "-b", "127.0.0.1:1", "--from", "-2"];
    let (code, words) = CommandLine::new().failure(&read);
    assert!(code == 2 && words.contains("--from") && words.contains("group reset"), "{words}");
}

#[test]
fn a_group_shows_its_lag_and_is_reset_only_with_yes() {
    let command_line = CommandLine::with_records(6);
    let read = command_line.text(&["consume", "t", "-e", "-g", "g"]);
    assert_eq!(read.lines().count(), 6);
    let lag = || -> u64 {
        let rows = command_line.rows(&["group", "describe", "g"]);
        rows.iter().map(|row| row["lag"].as_u64().unwrap()).sum()
    };
    assert_eq!(lag(), 0);
    let planned = command_line.rows(&["group", "reset", "g", "--to", "earliest"]);
    assert!(planned.iter().all(|row| row["is_done"] == false && row["to_offset"] == 0));
    assert_eq!(lag(), 0);
    command_line.text(&["group", "reset", "g", "--to", "earliest", "--yes"]);
    assert_eq!(lag(), 6);
    assert_eq!(command_line.rows(&["group", "list"])[0]["state"], "Empty");
    command_line.text(&["topic", "delete", "t", "--yes"]);
    let [row] = &command_line.rows(&["group", "describe", "g"])[..] else { panic!("one row") };
    assert_eq!((&row["state"], &row["topic"]), (&"Empty".into(), &Value::Null));
    assert_eq!(command_line.failure(&["group", "delete", "g"]).0, 2);
    command_line.text(&["group", "delete", "g", "--yes"]);
    assert_eq!(command_line.failure(&["group", "describe", "g"]).0, 5);
}

#[test]
fn the_cluster_and_its_nodes_are_shown() {
    let command_line = CommandLine::with_records(1);
    let status = command_line.rows(&["cluster", "status", "--check"]);
    assert_eq!((&status[0]["status"], &status[0]["nodes"]), (&"ok".into(), &1.into()));
    let nodes = command_line.rows(&["node", "list"]);
    assert_eq!((nodes.len(), &nodes[0]["is_controller"]), (1, &true.into()));
    assert_eq!(command_line.rows(&["node", "status"]), nodes);
}

#[test]
fn every_result_is_available_in_every_format() {
    let command_line = CommandLine::with_records(1);
    command_line.text(&["consume", "t", "--group", "g", "--no-follow"]);
    let commands: [&[&str]; 11] = [
        &["topic", "list"],
        &["topic", "describe", "t"],
        &["consume", "t", "--no-follow"],
        &["consume", "t", "--no-follow", "--from", "latest"],
        &["tail", "t"],
        &["group", "list"],
        &["group", "describe", "g"],
        &["group", "reset", "g", "--topic", "t", "--to", "earliest"],
        &["node", "list"],
        &["cluster", "status"],
        &["config", "show", "topic/t"],
    ];
    for command in commands {
        let in_form = |form| command_line.text(&[command, &["-o", form]].concat());
        let rows = in_form("json").lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        let rows: Vec<Value> = rows;
        let fields = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let list: Vec<Value> = serde_norway::from_str(&in_form("yaml")).unwrap();
        assert_eq!(list.len(), rows.len(), "{command:?}");
        let csv = in_form("csv");
        let headings: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        for row in rows.iter().chain(&list) {
            let fields = fields(row);
            assert!(headings.iter().all(|name| fields.iter().any(|field| field == name)));
        }
        assert!(csv.lines().count() > rows.len(), "{csv}");
        assert!(rows.is_empty() || !in_form("text").is_empty(), "{command:?}");
    }
}

#[test]
fn a_bench_publishes_and_reads_the_reported_records() {
    let command_line = CommandLine::new();
    let bench = ["bench", "produce", "t", "-n", "5000", "-s", "100"];
    let row = &command_line.rows(&[&bench[..], &["-z", "lz4", "--acks", "1"]].concat())[0];
    assert_eq!((&row["records"], &row["record_bytes"]), (&5000.into(), &100.into()));
    assert_eq!((&row["acks"], &row["compression"]), (&"1".into(), &"lz4".into()));
    let ascending = ["p50_ms", "p99_ms", "p999_ms", "max_ms"].map(|name| row[name].as_f64());
    assert!(ascending.is_sorted() && ascending[0] > Some(0.0), "{row}");

    let row = &command_line.rows(&["bench", "consume", "t"])[0];
    assert_eq!((&row["records"], &row["bytes"]), (&5000.into(), &500_000.into()));
    assert!(row["records_per_second"].as_f64() > Some(0.0), "{row}");
    let row = &command_line.rows(&["bench", "consume", "t", "-n", "7"])[0];
    assert_eq!(row["records"], 7);

    let latency = ["bench", "latency", "t", "-n", "20", "-r", "200"];
    let row = &command_line.rows(&latency)[0];
    assert_eq!((&row["records"], &row["rate"]), (&20.into(), &200.into()));
    assert!(row["max_ms"].as_f64() > Some(0.0), "{row}");
    // One more record, which opened the connections.
    assert_eq!(command_line.rows(&["bench", "consume", "t"])[0]["records"], 5021);

    let csv = command_line.text(&["bench", "consume", "t", "-o", "csv"]);
    assert!(csv.starts_with("topic,records,bytes,"), "{csv}");
    assert_eq!(command_line.failure(&["bench", "consume", "missing"]).0, 5);
    assert_eq!(command_line.failure(&["bench", "latency", "t", "-s", "23"]).0, 2);
}

#[test]
fn a_configuration_file_is_checked_setting_by_setting() {
    let command_line = CommandLine::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.properties");
    let text =
        "log.retention.hours=24\nnum.partitons=3\nnum.io.threads=8\nsasl.jaas.config=sesame\n";
    std::fs::write(&path, text).unwrap();
    let output = command_line.run(&["config", "check", path.to_str().unwrap(), "-o", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("[hidden]") && !text.contains("sesame"), "{text}");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<_> = rows.iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["honoured", "refused", "ignored", "refused"]);
    let has = |row: usize, words: &str| rows[row]["reason"].as_str().unwrap().contains(words);
    assert!(has(1, "num.partitions") && has(2, "sized by the machine") && has(3, "passwords"));

    std::fs::write(&path, "no setting\n").unwrap();
    let (code, words) = command_line.failure(&["config", "check", path.to_str().unwrap()]);
    assert!(code == 2 && words.contains("server.properties: no setting: expected"), "{words}");
}

/// The single-node configuration shipped with Kafka 4, without its comments.
const KAFKAS_OWN_FILE: &str = "\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
";

#[test]
fn the_configuration_shipped_with_kafka_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.properties");
    std::fs::write(&path, KAFKAS_OWN_FILE).unwrap();
    let rows = CommandLine::new().rows(&["config", "check", path.to_str().unwrap()]);
    let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count();
    assert_eq!((count("honoured"), count("ignored"), count("refused")), (14, 10, 0), "{rows:#?}");
}

#[test]
fn topics_of_the_cluster_are_completed() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "orders", "others", "x"]);
    assert!(command_line.text(&["completion", "bash"]).contains("streamlog"));
    let address = command_line.broker.client_config().bootstrap[0].to_string();
    let (host, port) = address.split_once(':').unwrap();
    let dir = tempfile::tempdir().unwrap();
    let contexts = dir.path().join("config.toml");
    let text = format!("[context.here]\nbootstrap.servers = '{address}'\n");
    std::fs::write(&contexts, text).unwrap();
    let completed = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = command_line.command(&[&["--", "streamlog"], words].concat());
        command.env("STREAMLOG_CONFIG", &contexts).envs(variables.iter().copied());
        command.env("STREAMLOG_COMPLETE", "bash").env("_CLAP_IFS", "\n");
        command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        let names = String::from_utf8(command.output().unwrap().stdout).unwrap();
        names.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["tail", "o"], &[]), ["orders", "others"]);
    let elsewhere = [("STREAMLOG_BOOTSTRAP", "127.0.0.1:1")];
    assert!(completed(&["tail", "o"], &elsewhere).is_empty());
    for words in [
        &["tail", "-b", &address, "o"][..],
        &["tail", "--context", "here", "-o", "json", "o"],
        &["topic", "describe", "-b", &address, "x", "o"],
        &["topic", "--context=here", "delete", "o"],
        &["group", "reset", "-b", &address, "-t", "o"],
        // Words as bash splits them.
        &["topic", "delete", "-b", host, ":", port, "o"],
        &["topic", "--context", "=", "here", "alter", "o"],
        &["group", "reset", "-b", host, ":", port, "--topic", "=", "o"],
    ] {
        assert_eq!(completed(words, &elsewhere), ["orders", "others"], "{words:?}");
    }
}

#[test]
fn names_that_other_clients_chose_do_not_command_the_terminal() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let groups = ["two\nlines", "\u{1b}[2Jempty"];
    for group in groups {
        command_line.text(&["consume", "t", "-e", "--group", group]);
    }
    for verb in ["list", "lag"] {
        let text = command_line.text(&["group", verb]);
        assert_eq!(text.lines().count(), 1 + groups.len(), "{text}");
        assert!(text.contains("two\\nlines") && text.contains("\\u{1b}[2Jempty"), "{text}");
    }
    let text = command_line.text(&["group", "describe", groups[1]]);
    assert!(text.contains("\\u{1b}[2Jempty") && !text.contains('\u{1b}'), "{text}");
    let (_, said) = command_line.failure(&["group", "describe", "\u{1b}[2Jnobody"]);
    assert!(said.contains("\\u{1b}[2Jnobody") && !said.contains('\u{1b}'), "{said}");
    let rows = command_line.rows(&["group", "list"]);
    assert!(rows.iter().any(|row| row["group"] == groups[0]), "{rows:?}");
}
