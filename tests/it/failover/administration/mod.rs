//! Three brokers in the hands of operators: listeners, problems that are listed, damaged disks,
//! deleted nodes of ZooKeeper, brokers that are gone.

mod checks;
mod damaged;
mod damaged_compacted;
mod deleted_nodes;
mod forgotten;
mod listeners;

use std::process::{Command, Output};
use std::time::Instant;

use crate::failover::three_brokers::PATIENCE;
use crate::support::BrokerProcess;

/// The problem of a broker with the first partition of a topic, and its remedy.
pub(super) fn problem_of(problems: &[Problem], broker: i32, topic: &str) -> String {
    let place = Some(format!("{topic}-0"));
    let is_named = |(id, of, _): &&Problem| *id == Some(broker.into()) && *of == place;
    let (_, _, words) = problems.iter().find(is_named).unwrap();
    words.clone()
}

/// Runs `streamlog` with a broker.
fn streamlog(broker: &BrokerProcess, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(arguments).env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

/// A line of `streamlog cluster check`: broker, partition, problem and remedy.
pub(super) type Problem = (Option<i64>, Option<String>, String);

/// The problems that `streamlog cluster check` lists, after a check that its exit code says whether
/// there are any.
pub(super) fn problems(broker: &BrokerProcess) -> Vec<Problem> {
    let output = streamlog(broker, &["cluster", "check", "-o", "json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let problems: Vec<_> = rows
        .map(|row| {
            let partition =
                row["topic"].as_str().map(|topic| format!("{topic}-{}", row["partition"]));
            let words = [&row["problem"], &row["remedy"]].map(|part| part.as_str().unwrap());
            (row["broker"].as_i64(), partition, words.join(" => "))
        })
        .collect();
    let expected = i32::from(!problems.is_empty());
    assert_eq!(output.status.code(), Some(expected), "{text}{:?}", output.stderr);
    problems
}

/// Waits until the problems of a partition that a broker lists are as wanted, and returns them.
fn await_problems(
    broker: &BrokerProcess,
    place: &str,
    wanted: impl Fn(&[Problem]) -> bool,
) -> Vec<Problem> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut found = problems(broker);
        found.retain(|(_, partition, _)| partition.as_deref() == Some(place));
        if wanted(&found) {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:?}");
    }
}
