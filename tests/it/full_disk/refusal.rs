//! The responses of a broker with a full disk to producers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::station::Station;
use super::volume::FileSystem;
use crate::support::TOPIC;

#[test]
fn streamlog_produce_reports_why_its_record_waits_and_delivers_it_once_there_is_space() {
    let mut station = Station::new(FileSystem::Tmpfs);
    station.volume.fill(0);
    station.produce_until_refused();
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["produce", TOPIC, "--bootstrap", &station.address().to_string()]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut produce = command.spawn().unwrap();
    produce.stdin.take().unwrap().write_all(b"12345678\n").unwrap();
    let mut said = String::new();
    BufReader::new(produce.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("no space left"), "{said}");
    station.volume.free(1 << 20);
    assert!(produce.wait().unwrap().success());
    station.check();
    station.stop();
}
