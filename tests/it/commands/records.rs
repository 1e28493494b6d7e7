//! Records on the command line: encodings, delimiters, several topics.

use std::fs;
use std::process::Output;

use super::on_a_cluster::CommandLine;

fn command_line(topics: &[&str]) -> CommandLine {
    let command_line = CommandLine::new();
    command_line.text(&[&["topic", "create", "-p", "1"], topics].concat());
    command_line
}

fn said(output: Output) -> (i32, String) {
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn numbers_are_sent_and_shown_in_the_format_of_kafkas_serializers() {
    let command_line = command_line(&["t"]);
    let encodings = ["-s", "key=i64", "-s", "value=hex"];
    let produce = [&["produce", "t", "-K", ":"][..], &encodings].concat();
    assert_eq!(said(command_line.run_with(&produce, "-2:00ff\n7: c3a4 \n")), (0, String::new()));

    // Without an encoding they are the bytes that Java writes for a long.
    let plain = command_line.run(&["consume", "t", "-e", "-f", "%k%s;"]).stdout;
    let longs = [(-2_i64).to_be_bytes(), 7_i64.to_be_bytes()];
    let expected = [&longs[0][..], b"\x00\xff;", &longs[1], "ä;".as_bytes()].concat();
    assert_eq!(plain, expected);

    let consume =
        |options: &[&str]| command_line.text(&[&["consume", "t", "-e"], options].concat());
    assert_eq!(consume(&["-f", "%k{i64}:%v{hex}\\n"]), "-2:00ff\n7:c3a4\n");
    let format = ["-f", "%k:%v %v{u16}\\n"];
    assert_eq!(consume(&[&encodings[..], &format].concat()), "-2:00ff 255\n7:c3a4 50084\n");
    assert_eq!(consume(&["-s", "value=base64"]), "AP8=\nw6Q=\n");
    // Bytes that are not a valid number are shown nevertheless.
    assert_eq!(consume(&["-s", "i32", "-f", "%v\\n"]), "0x00ff\n0xc3a4\n");
    let tail = command_line.text(&["tail", "t", "-n", "1", "-s", "value=u16"]);
    assert_eq!(tail, "50084\n");
}

#[test]
fn json_has_numbers_and_reads_back_what_it_wrote() {
    let command_line = command_line(&["t", "copy"]);
    let lines = "{\"key\": 5, \"value\": \"-0.25\"}\n{\"key\": {\"base64\": \"/w==\"}}\n";
    let encodings = ["--json", "-s", "key=i32", "-s", "value=f64"];
    assert_eq!(
        command_line.run_with(&[&["produce", "t"], &encodings[..]].concat(), lines).status.code(),
        Some(0)
    );
    let consume = ["consume", "t", "-e", "-o", "json"];
    let written = command_line.text(&[&consume[..], &encodings[1..]].concat());
    assert!(written.contains("\"key\":5,\"value\":-0.25"), "{written}");
    assert!(written.contains("\"key\":{\"base64\":\"/w==\"},\"value\":null"), "{written}");

    let copied = command_line.run_with(&[&["produce", "copy"], &encodings[..]].concat(), &written);
    assert_eq!(said(copied), (0, String::new()));
    let raw = |topic| command_line.run(&["consume", topic, "-e", "-f", "%k|%s;"]).stdout;
    assert_eq!(raw("copy"), raw("t"));
}

#[test]
fn text_invalid_in_its_encoding_is_reported_with_its_line() {
    let command_line = command_line(&["t"]);
    let sent = command_line.run_with(&["produce", "t", "-s", "value=u8"], "1\n255\n256\n4\n");
    let (code, words) = said(sent);
    assert_eq!(code, 1);
    assert!(words.contains("line 3 of standard input: '256'"), "{words}");
    assert!(words.contains("the encoding u8"), "{words}");
    assert_eq!(
        command_line.text(&["consume", "t", "-e", "-s", "u8"]),
        "1\n255\n",
        "records before it"
    );

    let (code, words) = command_line.failure(&["produce", "t", "-k", "x", "-s", "key=i64"]);
    assert!(code == 2 && words.contains("--key: 'x'"), "{words}");
    let (code, words) = command_line.failure(&["consume", "t", "-s", "int64"]);
    assert!(code == 2 && words.contains("'int64' is not an encoding: use text, hex"), "{words}");
    let (code, words) = command_line.failure(&["consume", "t", "-f", "%v{int64}"]);
    assert!(code == 2 && words.contains("'int64' is not an encoding"), "{words}");
}

#[test]
fn records_of_several_lines_are_read_as_written() {
    let command_line = command_line(&["t", "copy"]);
    let sent = command_line.run_with(&["produce", "t", "-D", "\\n--\\n"], "a\nb\n--\n\n--\nc");
    assert_eq!(sent.status.code(), Some(0));
    let written = command_line.text(&["consume", "t", "-e", "-D", "\\0"]);
    assert_eq!(written, "a\nb\0\0c\0");
    assert_eq!(
        command_line.run_with(&["produce", "copy", "-D", "\\0"], &written).status.code(),
        Some(0)
    );
    assert_eq!(command_line.text(&["tail", "copy", "-D", ";"]), "a\nb;;c;");
    assert_eq!(command_line.failure(&["consume", "t", "-D", ";", "-f", "%s"]).0, 2);
}

#[test]
fn topics_are_read_by_regular_expressions_for_whole_names() {
    let command_line = command_line(&["a-1", "a-2", "b"]);
    for topic in ["a-1", "a-2", "b"] {
        command_line.run_with(&["produce", topic], &format!("{topic}\n"));
    }
    let read = |arguments: &[&str]| {
        let mut lines: Vec<_> =
            command_line.text(arguments).lines().map(ToOwned::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(read(&["consume", "-r", "a-.*", "-e"]), ["a-1", "a-2"]);
    assert_eq!(read(&["consume", "-e", "-r", "b|c", ".-1", "--from", "-1"]), ["a-1", "b"]);
    assert_eq!(read(&["consume", "-r", ".*", "-e", "--group", "g"]), ["a-1", "a-2", "b"]);
    // The internal topics of groups exist now, and do not match.
    assert_eq!(read(&["consume", "-r", ".*", "-e", "-p", "0"]), ["a-1", "a-2", "b"]);
    assert_eq!(read(&["tail", "-r", "a.*", "-n", "9"]), ["a-1", "a-2"]);
    let (code, words) = command_line.failure(&["consume", "-r", "c.*", "-e"]);
    assert!(code == 5 && words.contains("no topic that matches 'c.*'"), "{words}");
    assert_eq!(
        command_line.failure(&["consume", "a.1", "-e"]).0,
        5,
        "without -r it is a plain name"
    );
    let (code, words) = command_line.failure(&["consume", "a-.*", "-e"]);
    assert!(code == 2 && words.contains("topic 'a-.*'") && words.contains("; -r "), "{words}");
}

#[test]
fn a_reader_says_which_records_are_lost_with_their_segment() {
    let mut command_line = command_line(&["t", "-c", "segment.bytes=16384"]);
    let lines: Vec<_> = (0..60).map(|number| format!("{number:0900}")).collect();
    // Small batches, so that there are several segments.
    let produce = ["produce", "t", "-X", "batch.size=2000"];
    assert_eq!(said(command_line.run_with(&produce, &lines.join("\n"))), (0, String::new()));
    command_line.stop();
    let log = command_line.data().join("t-0");
    let mut bases: Vec<i64> = fs::read_dir(&log)
        .unwrap()
        .filter_map(|entry| entry.unwrap().path().file_stem()?.to_str()?.parse().ok())
        .collect();
    bases.sort_unstable();
    bases.dedup();
    assert!(bases.len() > 2, "{bases:?}");
    for name in ["log", "index", "timeindex"] {
        let _ = fs::remove_file(log.join(format!("{:020}.{name}", 0)));
    }
    let data = command_line.data().to_str().unwrap().to_owned();
    assert_eq!(command_line.run(&["log", "verify", &data]).status.code(), Some(1));

    command_line.restart();
    let (code, words) = command_line.failure(&["consume", "t", "-e"]);
    assert!(words.contains("the records of t-0 from offset 0 on are damaged"), "{words}");
    assert_eq!(code, 6);
    let from = bases[1].to_string();
    let rest = command_line.text(&["consume", "t", "-e", "--from", &from]);
    assert_eq!(rest.lines().count(), lines.len() - usize::try_from(bases[1]).unwrap());
}
