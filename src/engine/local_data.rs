//! Changes of the cluster that concern the data of this broker: the logs of deleted topics are
//! removed, unidentified ones identified, and lost ones given up.
//!
//! All of it waits for the disk or the metadata store. So it has a task of its own: a slow disk
//! must not keep this broker from the other changes of an image, such as leading other partitions.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::EngineState;
use crate::engine::matching::identify_logs;
use crate::engine::topology::apply_latest;
use crate::metadata::{Image, Tombstone};
use crate::storage::Remedy;
use crate::types::{TopicId, TopicPartition, WithCauses};

/// The pause before another attempt at what has failed, or has to wait.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Does what the current image requires and, from now on, what the latest one requires whenever one
/// has been applied.
pub(super) fn follow(engine: &Arc<EngineState>) {
    let mut applied = engine.applied.subscribe();
    let following = Arc::clone(engine);
    engine.control.start(async move {
        loop {
            applied.borrow_and_update();
            // At the start too: the broker may have crashed between the tombstone and the removal.
            follow_once(&following).await;
            let has_more = following.deleted_topics(&following.image()).next().is_some()
                || !following.losses.is_empty();
            tokio::select! {
                biased;
                () = following.stopping.cancelled() => return,
                () = sleep(RETRY_PAUSE), if has_more => {}
                changed = applied.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    });
}

async fn follow_once(engine: &Arc<EngineState>) {
    // What a later image deletes is still served until that one has been applied.
    let image = {
        let applied = engine.applied_image.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&applied)
    };
    let is_removed = remove_deleted(engine, &image).await;
    if identify(engine, &image).await || is_removed {
        apply_latest(engine);
    }
    let EngineState { losses, metadata, logs, control, failure, .. } = &**engine;
    losses.note(logs, control).await;
    let is_kept = losses.keep_damaged(&engine.image(), metadata.has_lease());
    losses.register(metadata).await;
    if is_kept {
        apply_latest(engine);
    }
    if losses.give_up(metadata, logs, control, failure).await {
        apply_latest(engine);
    }
}

/// Identifies logs whose topics had no settings at the start, once these are there. Returns true if
/// there were any.
async fn identify(engine: &Arc<EngineState>, image: &Arc<Image>) -> bool {
    if engine.logs.data.unidentified().is_empty() {
        return false;
    }
    let (data, image) = (Arc::clone(&engine.logs.data), Arc::clone(image));
    let identifying = engine.control.run_blocking(move || identify_logs(&data, &image));
    match identifying.await {
        Ok(Ok(count)) => count > 0,
        Ok(Err(error)) if error.leaves_disk_unknown() => {
            engine.failure.report(WithCauses(&error).to_string());
            false
        }
        Ok(Err(error)) => {
            tracing::error!("a log stays closed: {}", WithCauses(&error));
            false
        }
        Err(_stopping) => false,
    }
}

/// Removes the logs of deleted topics, and returns true if there were any. Only a tombstone with
/// the topic's id permits that.
async fn remove_deleted(engine: &Arc<EngineState>, image: &Image) -> bool {
    let mut is_removed = false;
    for (id, tombstone) in engine.deleted_topics(image) {
        let (removing, removed) = (Arc::clone(engine), Arc::clone(tombstone));
        let removal = engine.control.run_blocking(move || remove_logs(&removing, id, &removed));
        match removal.await {
            Ok(removal) => {
                is_removed |= removal.has_removed;
                if !removal.is_complete {
                    continue;
                }
                engine.logs.upkeep.log_removed();
                if let Err(error) = engine.metadata.topic_data_removed(id).await {
                    tracing::warn!("the tombstone of {} stays: {error}", tombstone.name);
                }
            }
            Err(_stopping) => break,
        }
    }
    is_removed
}

/// The removal of a topic's logs.
struct Removal {
    /// True if none are left.
    is_complete: bool,
    /// True if one was removed.
    has_removed: bool,
}

/// Removes the logs of a topic where possible.
fn remove_logs(engine: &EngineState, id: TopicId, tombstone: &Tombstone) -> Removal {
    let logs = &engine.logs;
    // An unidentified log may belong to this topic. Keep the tombstone until that is decided: it is
    // the only record of the topic's id.
    let is_doubtful = |partition: &TopicPartition| {
        usize::try_from(partition.partition.0).is_ok_and(|number| number < tombstone.partitions)
            && partition.topic.as_str() == tombstone.name
    };
    let mut is_complete = !logs.data.unidentified().iter().any(is_doubtful);
    let mut has_removed = false;
    for (partition, _) in logs.data.partitions().into_iter().filter(|(_, m)| m.topic_id == id) {
        logs.flusher.forget(&partition);
        let Err(error) = logs.data.remove_log(&partition, id) else {
            has_removed = true;
            continue;
        };
        is_complete = false;
        if error.remedy() == Remedy::Fatal {
            engine.failure.report(WithCauses(&error).to_string());
        } else {
            tracing::error!("data of {partition} stays for now: {}", WithCauses(&error));
        }
    }
    // A later topic may have the same name: the records of this one must not be missed there.
    if let Err(error) = logs.data.record_removals() {
        is_complete = false;
        tracing::warn!("the tombstone of {} stays: {}", tombstone.name, WithCauses(&error));
    }
    Removal { is_complete, has_removed }
}
