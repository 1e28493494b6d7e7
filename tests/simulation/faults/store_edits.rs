//! Nodes of the metadata store that somebody deletes or overwrites.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::ensemble::{StateEdit, index};
use crate::world::World;

/// The longest time until a node is there again.
const MENDED_MAX: Duration = Duration::from_mins(1);

/// The interval of looks at the store, and of an operator's attempts.
const LOOK: Duration = Duration::from_millis(200);

/// Deletes or overwrites the state of a partition. An operator makes it again later.
pub(super) async fn edit_state(world: Arc<World>) {
    let partitions = world.partitions();
    let partition = &partitions[world.index(partitions.len())];
    let (name, edit) = match world.below(3) {
        0 => ("state deleted", StateEdit::Deleted),
        1 => ("state deleted", StateEdit::DeletedWithParent),
        _ => ("state overwritten", StateEdit::Overwritten),
    };
    let Some(epoch) = world.ensemble.edit_state(partition, edit).await else { return };
    let numbers = [partition.partition.0.into(), epoch.0.into()];
    world.note(name, &numbers);
    world.note_lost_state(partition, epoch);
    sleep(world.millis(0, 9_000)).await;
    let begun = world.clock.elapsed();
    // An answer may be lost.
    while world.ensemble.state(partition).await.is_none() {
        if world.is_over("a lost state is made again", begun, MENDED_MAX) {
            return;
        }
        let asked = &world.machines[world.index(world.machines.len())];
        // The state may have been lost another time since.
        if let Some(last) = world.last_lost_epoch(partition) {
            let partition = partition.clone();
            asked.handle(|broker| broker.rebuild_state(partition, last));
        }
        sleep(LOOK).await;
    }
    world.note("state made again", &numbers);
}

/// Deletes what the store knows of a broker. The broker writes it again.
pub(super) async fn delete_known_broker(world: &Arc<World>, machine: usize) {
    let id = world.machines[machine].id();
    if !world.ensemble.delete_known_broker(id).await {
        return;
    }
    world.note("known broker deleted", &[index(machine)]);
    let begun = world.clock.elapsed();
    while !world.ensemble.knows(id).await
        && !world.is_over("a broker is known again", begun, MENDED_MAX)
    {
        sleep(LOOK).await;
    }
}
