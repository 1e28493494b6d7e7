//! A thermometer with a durable log: the engine in this process, without a socket.
//!
//! `cargo run --example embedded [DIR]` appends a few readings, waits until they are on disk, and
//! reads back all readings. Run it twice: the readings of the first run are still there.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::env;
use std::error::Error;
use std::thread;

use streamlog::embedded::{Logs, Start};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = env::args_os().nth(1).unwrap_or_else(|| "streamlog-data".into());
    let logs = Logs::open(&dir)?;
    logs.ensure_topic("readings", 1, &[("retention.ms", "-1")])?;
    let readings = logs.partition("readings", 0)?;

    // Another thread follows the log; it sees what is on disk, and waits for more.
    let follower = readings.read(Start::Latest)?.follow();
    let display = thread::spawn(move || {
        for record in follower.take(3).flatten() {
            println!("now     {}", show(record.value.as_deref()));
        }
    });

    // Appending returns at once. Waiting for the last ticket waits for all of them.
    readings.append([("kitchen", "21.5"), ("cellar", "12.0")])?;
    let ticket = readings.append([("kitchen", "21.7")])?;
    ticket.wait_flushed()?;
    display.join().map_err(|_| "the display has failed")?;

    for record in readings.read(Start::Earliest)? {
        let record = record?;
        let (key, value) = (show(record.key.as_deref()), show(record.value.as_deref()));
        println!("{:>7} {key} {value}", record.offset);
    }
    logs.close()?; // and `streamlog broker --data-dir DIR` serves it
    Ok(())
}

fn show(bytes: Option<&[u8]>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}
