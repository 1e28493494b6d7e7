//! The end of an epoch in a log, and truncations during a flush.

use super::log::{Log, Record};

fn log(epochs: &[u8]) -> Log {
    let mut log = Log::default();
    for (number, epoch) in (1..).zip(epochs) {
        log.append(Record::new(*epoch, number));
    }
    log
}

#[test]
fn the_end_of_an_epoch_is_the_start_of_the_next_one_that_has_records() {
    let log = log(&[1, 1, 3]);
    assert_eq!(log.end_of_epoch(0), (0, 0));
    assert_eq!(log.end_of_epoch(1), (1, 2));
    assert_eq!(log.end_of_epoch(2), (1, 2));
    assert_eq!(log.end_of_epoch(3), (3, 3));
    assert_eq!(log.end_of_epoch(9), (3, 3));
}

#[test]
fn a_truncation_lowers_the_flushed_end() {
    let mut log = log(&[1, 1]);
    log.flush_all();
    log.truncate(1);
    assert_eq!((log.end, log.flushed, log.durable), (1, 1, 1));
    assert_eq!(log.record(1), Record::NONE);
}

#[test]
fn a_flush_does_not_cover_records_appended_after_a_truncation() {
    let mut log = log(&[1, 1]);
    log.begin_flush();
    log.truncate(0);
    log.append(Record::new(2, 3));
    log.finish_flush();
    assert_eq!(log.durable, 0);
    assert_eq!(log.flushed, 1, "rule R1b, which prevents this, is decided elsewhere");
}
