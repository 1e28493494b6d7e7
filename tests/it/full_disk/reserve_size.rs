//! A measurement of the reserve that a stop and a start use, by the number of logs.

use std::fs;

use super::station::Station;
use super::volume::{FileSystem, Volume};
use crate::support::batch;

const CHUNK: usize = 64 << 10;

/// The number of remaining chunks.
fn chunks(station: &Station) -> usize {
    fs::read_dir(station.volume.data().join("reserve")).unwrap().count()
}

/// Uses of the reserve, in chunks.
#[derive(Debug)]
struct Use {
    whole: usize,
    running: usize,
    stop: usize,
    start: usize,
}

/// Fills the disk after each of `logs` logs was written to, then stops and starts the broker,
/// cleanly and as after a crash of the process.
fn measure(logs: usize) -> Use {
    let volume = Volume::mount_sized(FileSystem::Ext4(4096), 256 << 20);
    let mut station = Station::on(volume);
    let topics: Vec<_> = (1..logs).map(|number| format!("topic-{number}")).collect();
    for topic in &topics {
        station.create_topic(topic, &[]);
    }
    let append = |station: &Station| {
        let mut client = station.connect();
        for topic in &topics {
            client.send_batch_to(topic, batch(0..100), -1).unwrap();
            assert!(client.receive_offset().unwrap().is_ok());
        }
    };
    append(&station);
    station.produce_some(1);
    // The reserve grows with the number of logs at a start, for example.
    station.stop();
    station.start();
    station.wait_until_it_takes_records();
    append(&station);
    let whole = chunks(&station);
    station.volume.fill(0);
    // The checkpoints list every log.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let running = chunks(&station);
    station.volume.fill(0);
    station.stop();
    let stopped = chunks(&station);
    station.volume.fill(0);
    station.forget_clean_stop();
    station.volume.fill(0);
    station.start();
    station.check();
    let started = chunks(&station);
    station.volume.empty();
    station.stop();
    Use {
        whole,
        running: whole - running,
        stop: running.saturating_sub(stopped),
        start: stopped.saturating_sub(started),
    }
}

#[test]
fn a_stop_and_a_start_on_a_full_disk_use_a_part_of_the_reserve_whatever_the_number_of_logs() {
    let most = std::env::var("STREAMLOG_LOGS").map_or(64, |text| text.parse().unwrap());
    for logs in [1, most] {
        let used = measure(logs);
        let bytes = (used.running + used.stop + used.start) * CHUNK / logs;
        println!("{logs} logs: {used:?}, {bytes} bytes for each log");
        assert_eq!(used.whole, 8 + logs.div_ceil(4), "{used:?}");
        let sum = used.running + used.stop + used.start;
        assert!(4 * sum <= 3 * used.whole, "more than three quarters of it: {used:?}");
    }
}
