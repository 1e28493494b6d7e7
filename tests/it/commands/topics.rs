//! Several topics at once, and positions in their partitions.

use super::on_a_cluster::CommandLine;

/// Topics `a-1`, `a-2` and `b`, of two partitions each, with five records in the first of `a-1`.
fn command_line() -> CommandLine {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "a-1", "a-2", "b", "-p", "2"]);
    let sent = command_line.run_with(&["produce", "a-1", "-p", "0"], "0\n1\n2\n3\n4\n");
    assert_eq!(sent.status.code(), Some(0));
    command_line
}

/// The topics in a command's rows, without duplicates.
fn topics(command_line: &CommandLine, arguments: &[&str]) -> Vec<String> {
    let rows = command_line.rows(arguments);
    let mut names: Vec<_> =
        rows.iter().map(|row| row["topic"].as_str().unwrap().to_owned()).collect();
    names.dedup();
    names
}

#[test]
fn topics_are_found_by_regular_expressions_for_whole_names() {
    let command_line = command_line();
    assert_eq!(topics(&command_line, &["topic", "list", "a-.*"]), ["a-1", "a-2"]);
    assert_eq!(topics(&command_line, &["topic", "list", "a", "b|c"]), ["b"]);
    assert_eq!(topics(&command_line, &["topic", "describe", "-r", ".*-[12]"]), ["a-1", "a-2"]);
    assert_eq!(topics(&command_line, &["topic", "offsets", "--regex", "b"]), ["b"]);

    let (code, words) = command_line.failure(&["topic", "delete", "-r", "a-.*"]);
    assert!(code == 2 && words.contains("a-1, a-2 with 4 partitions"), "{words}");
    command_line.text(&["topic", "delete", "-r", "a-.*", "--yes"]);
    assert_eq!(topics(&command_line, &["topic", "list"]), ["b"]);

    let (code, words) = command_line.failure(&["topic", "delete", "-r", "a-.*", "--yes"]);
    assert!(code == 5 && words.contains("no topic that matches 'a-.*'"), "{words}");
    let (code, words) = command_line.failure(&["topic", "list", "a("]);
    assert!(code == 2 && words.contains("'a('") && words.lines().count() == 1, "{words}");
    // Without -r it is a plain name.
    assert_eq!(command_line.failure(&["topic", "delete", "b.", "--yes"]).0, 5);
}

#[test]
fn offsets_are_shown_at_a_position() {
    let command_line = command_line();
    let range = &command_line.rows(&["topic", "offsets", "a-1"])[0];
    assert_eq!((&range["begin_offset"], &range["end_offset"]), (&0.into(), &5.into()));
    for (place, offset) in [("+2", 2), ("-2", 3), ("latest", 5), ("earliest", 0), ("99", 5)] {
        let rows = command_line.rows(&["topic", "offsets", "a-1", "--at", place]);
        let offsets: Vec<_> = rows.iter().map(|row| row["offset"].as_i64().unwrap()).collect();
        assert_eq!(offsets, [offset, 0], "{place}");
        assert!(rows[0]["timestamp"].is_null(), "{place}");
    }
    let hour_ago = &command_line.rows(&["topic", "offsets", "a-1", "--at", "-1h"])[0];
    assert_eq!(hour_ago["offset"], 0);
    assert!(hour_ago["timestamp"].as_i64().unwrap() > 1_600_000_000_000);
    let never = &command_line.rows(&["topic", "offsets", "a-1", "--at", "2999-01-01T00:00Z"])[0];
    assert_eq!((&never["offset"], never["timestamp"].is_null()), (&5.into(), true));
}

#[test]
fn a_topic_is_trimmed_only_with_yes() {
    let command_line = command_line();
    let trim = ["topic", "trim", "a-1", "--before", "-2"];
    let plan = &command_line.rows(&trim)[0];
    assert_eq!((&plan["to_offset"], &plan["is_done"]), (&3.into(), &false.into()));
    assert_eq!(command_line.text(&["consume", "a-1", "-e"]).lines().count(), 5);

    let rows = command_line.rows(&[&trim[..], &["--yes", "-p", "0"]].concat());
    assert_eq!(
        (rows.len(), &rows[0]["to_offset"], &rows[0]["is_done"]),
        (1, &3.into(), &true.into())
    );
    assert_eq!(command_line.text(&["consume", "a-1", "-e"]), "3\n4\n");

    let (code, words) = command_line.failure(&[&trim[..], &["--yes", "-p", "2"]].concat());
    assert!(code == 5 && words.contains("has no partition 2"), "{words}");
    let all = ["topic", "trim", "a-1", "--before", "latest"];
    let words = |arguments: &[&str]| String::from_utf8(command_line.run(arguments).stderr).unwrap();
    assert_eq!(words(&all), "streamlog: this deletes all records of a-1-0\n");
    assert_eq!(words(&[&all[..], &["-p", "1"]].concat()), "", "it is empty");
    let said = words(&[&all[..], &["--yes"]].concat());
    assert_eq!(said, "streamlog: all records of a-1-0 were deleted\n");
    assert_eq!(command_line.text(&["consume", "a-1", "-e"]), "");
}

#[test]
fn the_lag_of_all_groups_is_in_one_table() {
    let command_line = command_line();
    command_line.text(&["consume", "a-1", "-e", "-n", "2", "--group", "slow"]);
    command_line.text(&["consume", "a-1", "-e", "--group", "done"]);
    let rows = command_line.rows(&["group", "lag"]);
    let lag = |group: &str| {
        let row = rows.iter().find(|row| row["group"] == group).unwrap();
        assert_eq!(row["topic"], "a-1");
        row["lag"].as_u64().unwrap()
    };
    assert_eq!((rows.len(), lag("slow"), lag("done")), (2, 3, 0));
    assert_eq!(command_line.rows(&["group", "lag", "slow"]).len(), 1);
    assert_eq!(command_line.failure(&["group", "lag", "none"]).0, 5);
}

#[test]
fn tables_fit_into_80_columns_and_may_omit_their_headings() {
    let command_line = command_line();
    command_line.text(&["consume", "a-1", "-e", "--group", "a-group-of-consumers"]);
    for command in
        [&["topic", "describe", "a-1"][..], &["group", "describe", "a-group-of-consumers"]]
    {
        let table = command_line.text(command);
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        let rows = command_line.text(&[command, &["--no-headers"]].concat());
        assert_eq!(rows.lines().count() + 1, table.lines().count());
        let csv = command_line.text(&[command, &["--no-headers", "-o", "csv"]].concat());
        assert_eq!(csv.lines().count(), rows.lines().count());
        assert!(csv.starts_with("a-"), "{csv}");
    }
}
