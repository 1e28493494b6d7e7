//! A broker whose advertised address leads nowhere, so that only its bootstrap address is reached.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output, Stdio};

use crate::support::{LocalBroker, TOPIC};

/// A broker that advertises an address at which nothing listens.
fn broker() -> (LocalBroker, SocketAddr) {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let advertised = format!("PLAINTEXT://{unused}");
    (LocalBroker::new(1, &[("advertised.listeners", &advertised)]), unused)
}

fn run(broker: &LocalBroker, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(arguments).env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"x\n").unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_topic_is_not_created_and_the_reason_is_said_once() {
    let (broker, unused) = broker();
    let create = ["topic", "create", "new", "-X", "default.api.timeout.ms=1s"];
    let output = run(&broker, &create);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert_eq!(words.matches("no broker could be reached").count(), 1, "{words}");
    assert!(words.contains(&format!("{unused}: ")) && words.contains("--advertise"), "{words}");
}

#[test]
fn a_producer_that_waits_says_why() {
    let (broker, unused) = broker();
    let output = run(&broker, &["produce", TOPIC, "-X", "delivery.timeout.ms=6s"]);
    let words = String::from_utf8(output.stderr).unwrap();
    let (first, last) = words.split_once('\n').unwrap();
    let retrying = "streamlog: retrying: no broker could be reached";
    assert!(first.starts_with(retrying) && first.contains(&unused.to_string()), "{words}");
    assert_eq!(words.matches("retrying").count(), 1, "{words}");
    assert!(last.contains("not delivered") || last.contains("was not done"), "{words}");
    assert_eq!(output.status.code(), Some(3), "{words}");
}
