//! Disks that have lost records: who leads then, and what an operator has to accept.

mod losses;
mod outages;

use std::process::{Command, Output};

use crate::support::BrokerProcess;

/// Runs `streamlog partition elect` for the only partition of a topic.
fn elect(broker: &BrokerProcess, topic: &str, options: &[&str]) -> Output {
    streamlog(broker, &[&["partition", "elect", &format!("{topic}-0")], options].concat())
}

/// The row that `streamlog topic describe` shows of the only partition of a topic.
fn describe(broker: &BrokerProcess, topic: &str) -> serde_json::Value {
    let output = streamlog(broker, &["topic", "describe", topic]);
    assert!(output.status.success(), "{}", words(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn streamlog(broker: &BrokerProcess, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(arguments).args(["-o", "json"]);
    command.env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
