//! Tests of logs that have lost records which were durable.

use std::path::Path;

use crate::io::OpenMode;
use crate::storage::directory::directory_tests::{
    World, append, partition, stop, topic, watermark, with_ten_records,
};
use crate::storage::{HighWatermarks, Unreadable};
use crate::types::Offset;

/// A stopped or crashed machine whose log has lost records at its end, although all ten were
/// durable: the last segment was cut by `halves` halves of a batch.
fn with_a_lost_end(is_clean: bool, halves: u64) -> World {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    log.flush().unwrap();
    if is_clean {
        stop(directory, 10);
    } else {
        directory.checkpoint(&HighWatermarks::new()).unwrap();
        drop(directory);
    }
    let path = Path::new("/data/web-0/00000000000000000000.log");
    let file = world.disk.open(path, OpenMode::Write).unwrap();
    let size = file.len().unwrap();
    file.set_len(size - size * halves / 20).unwrap();
    file.sync_data().unwrap();
    world
}

#[test]
fn records_lost_at_the_end_are_found_by_each_start_until_they_are_given_up() {
    let theirs = topic(1).topic_id;
    for (is_clean, halves) in [(false, 3), (true, 4)] {
        let world = with_a_lost_end(is_clean, halves);
        for _ in 0..2 {
            assert_eq!(world.open().unwrap().losses().unwrap(), [(partition(0), theirs)]);
        }
        let directory = world.open().unwrap();
        directory.give_up_lost_end(&partition(0), topic(2).topic_id, Unreadable::SetAside).unwrap();
        assert_eq!(directory.losses().unwrap().len(), 1, "the loss of another topic");
        directory.give_up_lost_end(&partition(0), theirs, Unreadable::SetAside).unwrap();
        assert_eq!(directory.losses().unwrap(), []);
        let log = directory.log(&partition(0)).unwrap().unwrap();
        let end = log.log_end_offset();
        assert_eq!(end, Offset::new(8));
        if !is_clean {
            assert_eq!(world.names("/data/quarantine").len(), 1, "half a batch");
        }
        append(&log, 3).unwrap();
        log.flush().unwrap();
        drop((directory, log));
        let directory = world.open().unwrap();
        assert_eq!(directory.losses().unwrap(), []);
        let log = directory.log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), end.plus(3));
    }
}

#[test]
fn a_log_that_has_lost_all_segments_is_a_loss_and_begins_again_where_it_is_given_up() {
    for is_clean in [false, true] {
        let world = with_a_lost_end(is_clean, 0);
        let path = Path::new("/data/web-0/00000000000000000000.log");
        world.disk.remove_file(path).unwrap();
        let directory = world.open().unwrap();
        assert_eq!(directory.losses().unwrap(), [(partition(0), topic(1).topic_id)]);
        directory.give_up_lost_end(&partition(0), topic(1).topic_id, Unreadable::SetAside).unwrap();
        let log = directory.log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::ZERO);
        append(&log, 3).unwrap();
        assert_eq!(directory.losses().unwrap(), []);
    }
}

#[test]
fn a_log_that_is_gone_after_a_stop_in_order_is_missed_until_it_is_given_up() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    log.flush().unwrap();
    drop(log);
    stop(directory, 10);
    for entry in world.disk.list(Path::new("/data/web-0")).unwrap() {
        world.disk.remove_file(&Path::new("/data/web-0").join(entry.name)).unwrap();
    }
    world.disk.remove_dir(Path::new("/data/web-0")).unwrap();
    let (theirs, other) = (topic(1).topic_id, topic(2).topic_id);
    for _ in 0..2 {
        let directory = world.open().unwrap();
        assert_eq!(directory.start_report().missing, [(partition(0), theirs)].into());
        assert_eq!(directory.floor(&partition(0), theirs), Some(Offset::new(10)));
        assert_eq!(directory.floor(&partition(0), other), None, "another topic of the name");
        directory.close(&HighWatermarks::new()).unwrap();
    }
    let directory = world.open().unwrap();
    directory.give_up_lost_end(&partition(0), theirs, Unreadable::SetAside).unwrap();
    assert_eq!(directory.floor(&partition(0), theirs), None);
    directory.close(&HighWatermarks::new()).unwrap();
    drop(directory);
    assert!(world.open().unwrap().start_report().missing.is_empty());
}

#[test]
fn a_log_that_ends_before_its_end_at_the_stop_in_order_has_lost_records() {
    let world = with_a_lost_end(true, 20);
    let directory = world.open().unwrap();
    assert_eq!(directory.losses().unwrap(), [(partition(0), topic(1).topic_id)]);
    directory.give_up_lost_end(&partition(0), topic(1).topic_id, Unreadable::SetAside).unwrap();
    assert_eq!(directory.losses().unwrap(), []);
    assert_eq!(directory.floor(&partition(0), topic(1).topic_id), None);
}

#[test]
fn a_loss_that_the_files_do_not_show_is_found_by_each_start_until_it_is_given_up() {
    let (theirs, other) = (topic(1).topic_id, topic(2).topic_id);
    for is_clean in [false, true] {
        let world = with_a_lost_end(is_clean, 0);
        let directory = world.open().unwrap();
        directory.note_loss(&partition(0), other).unwrap();
        assert_eq!(directory.losses().unwrap(), [], "that of another topic");
        directory.note_loss(&partition(0), theirs).unwrap();
        drop(directory);
        for _ in 0..2 {
            let directory = world.open().unwrap();
            assert_eq!(directory.losses().unwrap(), [(partition(0), theirs)]);
        }
        let directory = world.open().unwrap();
        directory.give_up_lost_end(&partition(0), theirs, Unreadable::SetAside).unwrap();
        assert_eq!(directory.losses().unwrap(), []);
        let log = directory.log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::new(10), "the records stay");
        drop((directory, log));
        assert_eq!(world.open().unwrap().losses().unwrap(), []);
    }
}

#[test]
fn a_log_that_ends_as_recorded_is_no_loss() {
    let world = with_a_lost_end(false, 0);
    let directory = world.open().unwrap();
    directory.create_log(&partition(1), topic(2)).unwrap();
    assert_eq!(directory.losses().unwrap(), []);
    directory.give_up_lost_end(&partition(0), topic(1).topic_id, Unreadable::SetAside).unwrap();
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(10));
}

#[test]
fn a_damaged_log_is_moved_to_quarantine_as_a_whole_and_another_takes_its_place() {
    let (theirs, other) = (topic(1).topic_id, topic(2).topic_id);
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    log.flush().unwrap();
    directory.checkpoint(&watermark(10)).unwrap();
    directory.give_up_damaged(&partition(0), other).unwrap();
    assert!(directory.log(&partition(0)).unwrap().is_some(), "the log of another topic");
    assert_eq!(directory.quarantined(&partition(0)).unwrap(), None);
    directory.give_up_damaged(&partition(0), theirs).unwrap();
    directory.give_up_damaged(&partition(0), theirs).unwrap();
    assert!(directory.log(&partition(0)).unwrap().is_none());
    assert_eq!(directory.floor(&partition(0), theirs), None);
    let [cell] = world.names("/data/quarantine").try_into().unwrap();
    let path = format!("/data/quarantine/{cell}/web-0");
    assert_eq!(directory.quarantined(&partition(0)).unwrap(), Some(path.clone().into()));
    assert_eq!(directory.quarantined(&partition(1)).unwrap(), None);
    let kept = world.names(&path);
    assert!(kept.contains(&"00000000000000000000.log".to_owned()), "{kept:?}");
    append(&log, 1).unwrap_err();

    let next = directory.create_log(&partition(0), topic(1)).unwrap();
    append(&next, 3).unwrap();
    next.flush().unwrap();
    drop((directory, log, next));
    let directory = world.open().unwrap();
    assert_eq!(directory.losses().unwrap(), []);
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(3));
}
