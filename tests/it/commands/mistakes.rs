//! Mistakes on the command line, and the errors they give.

use std::io::{Read, Write};
use std::process::Stdio;

use super::on_a_cluster::CommandLine;

fn said(command_line: &CommandLine, arguments: &[&str]) -> (i32, String) {
    command_line.failure(arguments)
}

#[test]
fn a_file_needs_an_option_that_says_whether_it_is_lines_or_a_record() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"a\nb\n").unwrap();
    let path = file.path().to_str().unwrap();
    let (code, words) = said(&command_line, &["produce", "t", path]);
    assert!(code == 2 && words.contains(&format!("`< {path}`")), "{words}");
    assert!(words.contains(&format!("-l {path}")) && words.contains("--file"), "{words}");
    assert_eq!(command_line.text(&["consume", "t", "-e"]), "");
    command_line.text(&["produce", "t", "-l", path]);
    command_line.text(&["produce", "t", "--file", path]);
    assert_eq!(command_line.text(&["consume", "t", "-e"]), "a\nb\na\nb\n\n");
    assert_eq!(said(&command_line, &["produce", "t", "-l", "/no/such/file"]).0, 1);
}

#[test]
fn records_of_several_lines_end_with_the_delimiter() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let sent = command_line.run_with(&["produce", "t", "-D", "\\n--\\n"], "a\nb\n--\nc\n--\n");
    assert_eq!(sent.status.code(), Some(0));
    assert_eq!(command_line.text(&["consume", "t", "-e", "-f", "%s;"]), "a\nb;c;");
}

#[test]
fn one_line_too_long_among_a_million_is_reported() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&b"x\n".repeat(400_000)).unwrap();
    file.write_all(&vec![b'y'; 2 << 20]).unwrap();
    file.write_all(b"\n").unwrap();
    file.write_all(&b"x\n".repeat(599_999)).unwrap();
    let sent = command_line.run(&["produce", "t", "-l", file.path().to_str().unwrap()]);
    let words = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(sent.status.code(), Some(1), "{words}");
    assert!(words.contains("line 400001 of ") && words.contains("longer than 1048576"), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    let end = &command_line.rows(&["topic", "describe", "t"])[0]["end_offset"];
    assert_eq!(end, 999_999);
}

#[test]
fn a_line_that_is_just_too_long_is_reported() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let long = "y".repeat(1020);
    let command = ["produce", "t", "-X", "max.request.size=1KiB"];
    let sent = command_line.run_with(&command, &format!("a\n{long}\nb\n").repeat(20));
    let words = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(sent.status.code(), Some(1), "{words}");
    assert!(words.contains("line 2 of standard input is not sent"), "{words}");
    assert!(words.contains("20 lines were not sent") && words.lines().count() == 11, "{words}");
    assert_eq!(command_line.text(&["consume", "t", "-e"]).lines().count(), 40);
}

#[test]
fn a_line_whose_record_is_too_large_is_reported_with_the_size_of_the_record() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let sent = command_line.run_with(&["produce", "t"], &"y".repeat(1_048_505));
    let words = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(sent.status.code(), Some(1), "{words}");
    assert!(!words.contains("longer than"), "{words}");
    let size = words.split("takes ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(size.unwrap().parse::<u64>().unwrap() > 1_048_576, "{words}");
}

#[test]
fn an_empty_text_between_key_and_value_is_refused() {
    let command_line = CommandLine::new();
    let (code, words) = said(&command_line, &["produce", "t", "-K", ""]);
    assert!(code == 2 && words.contains("--key-delimiter: it is empty"), "{words}");
    assert!(command_line.rows(&["topic", "list"]).is_empty());
}

#[test]
fn a_group_with_members_is_not_reset_and_its_members_are_named() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t"], "a\n");
    let mut member = command_line.command(&["consume", "t", "-g", "busy"]);
    let mut member = member.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 2];
    member.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(first, *b"a\n");
    let reset = ["group", "reset", "busy", "-t", "t", "--to", "earliest", "--yes"];
    let (code, words) = said(&command_line, &reset);
    assert!(code == 4 && words.contains("has members ('streamlog' at 127.0.0.1)"), "{words}");
    assert_eq!(said(&command_line, &["group", "delete", "busy", "--yes"]).0, 4);
    member.kill().unwrap();
    member.wait().unwrap();
}

#[test]
fn a_relative_reset_needs_committed_offsets() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "2"]);
    let (code, words) = said(&command_line, &["group", "reset", "none", "-t", "t", "--to", "+1"]);
    assert!(code == 2 && words.contains("no offsets in t to count from"), "{words}");
}

#[test]
fn a_format_without_a_letter_is_refused() {
    let command_line = CommandLine::new();
    let (code, words) = said(&command_line, &["consume", "t", "-f", "json"]);
    assert!(code == 2 && words.contains("`-o json`"), "{words}");
    assert_eq!(said(&command_line, &["consume", "t", "-f", "hello\\n"]).0, 2);
}

#[test]
fn a_document_is_sent_as_its_text() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    let lines = "{\"key\": 7, \"value\": {\"b\": 1.0, \"a\": []}}\n";
    assert_eq!(command_line.run_with(&["produce", "t", "--json"], lines).status.code(), Some(0));
    assert_eq!(
        command_line.text(&["consume", "t", "-e", "-f", "%k %s"]),
        "7 {\"b\": 1.0, \"a\": []}"
    );
    let wrong =
        command_line.run_with(&["produce", "t", "--json"], "{\"value\": {\"base64\": \"?\"}}\n");
    let words = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(1) && !words.contains("untagged"), "{words}");
}

#[test]
fn missing_names_are_reported_with_suggestions() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "orders", "-p", "3"]);
    command_line.text(&["consume", "orders", "-e", "-g", "billing"]);
    let topics: [&[&str]; 5] = [
        &["consume", "ordrs"],
        &["tail", "ordrs"],
        &["topic", "describe", "ordrs"],
        &["topic", "delete", "ordrs"],
        &["config", "show", "topic/ordrs"],
    ];
    for command in topics {
        let (code, words) = said(&command_line, command);
        assert!(code == 5 && words.contains("did you mean 'orders'?"), "{command:?}: {words}");
    }
    let (code, words) = said(&command_line, &["group", "describe", "biling"]);
    assert!(code == 5 && words.contains("did you mean 'billing'?"), "{words}");
    let partitions: [&[&str]; 3] = [
        &["consume", "orders", "-p", "3"],
        &["tail", "orders", "-p", "3"],
        &["produce", "orders", "-p", "3"],
    ];
    for command in partitions {
        let output = command_line.run_with(command, "x\n");
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{command:?}: {words}");
        let expected = "topic 'orders' has no partition 3: it has 3, numbered from 0";
        assert!(words.contains(expected), "{command:?}: {words}");
    }
}

#[test]
fn settings_accept_units_and_are_refused_in_the_wrong_place() {
    let command_line = CommandLine::new();
    let settings = ["-c", "retention.ms=7d", "-c", "segment.bytes=1GiB"];
    command_line.text(&[&["topic", "create", "t"][..], &settings].concat());
    let value = |name: &str| {
        let rows = command_line.rows(&["config", "show", "topic/t"]);
        let row = rows.iter().find(|row| row["name"] == name);
        row.map(|row| row["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(value("retention.ms").as_deref(), Some("604800000"));
    assert_eq!(value("segment.bytes").as_deref(), Some("1073741824"));
    command_line.text(&["topic", "alter", "t", "-c", "retention.ms=90m"]);
    assert_eq!(value("retention.ms").as_deref(), Some("5400000"));
    command_line.text(&["config", "set", "topic/t", "retention.ms=1h 30m", "flush.ms=2s"]);
    assert_eq!(value("flush.ms").as_deref(), Some("2000"));
    command_line.text(&["topic", "list", "-X", "default.api.timeout.ms=5s"]);
    let (code, words) = said(&command_line, &["topic", "create", "u", "-c", "retention.ms=7x"]);
    assert!(code == 1 && words.matches("invalid value '7x'").count() == 1, "{words}");
    let (code, words) = said(&command_line, &["topic", "create", "u", "-X", "retention.ms=1d"]);
    assert!(code == 2 && words.contains("-c retention.ms=VALUE"), "{words}");
    let (code, words) = said(&command_line, &["topic", "create", "u", "-c", "linger.ms=1"]);
    assert!(code == 2 && words.contains("-X linger.ms=VALUE"), "{words}");
    let (code, words) = said(&command_line, &["topic", "list", "-X", "num.partitions=1"]);
    assert!(code == 2 && words.contains("config set nodes"), "{words}");
}

#[test]
fn internal_topics_are_not_counted() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "2"]);
    // Creates the internal topic of groups.
    command_line.text(&["consume", "t", "-e", "-g", "g"]);
    let all = command_line.rows(&["topic", "list", "--internal"]).len();
    let status = &command_line.rows(&["cluster", "status"])[0];
    assert!(all > 1, "{all}");
    assert_eq!((&status["topics"], &status["partitions"]), (&1.into(), &2.into()));
}

#[test]
fn a_command_ends_quietly_when_its_reader_closes_the_pipe() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t"], &"x\n".repeat(100_000));
    let commands: [&[&str]; 3] =
        [&["consume", "t"], &["consume", "t", "--from", "-1"], &["tail", "t", "-f"]];
    for command in commands {
        let mut command = command_line.command(command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = [0; 2];
        child.stdout.take().unwrap().read_exact(&mut line).unwrap();
        // Without a reader, and possibly without anything left to write.
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{command:?}");
    }
}
