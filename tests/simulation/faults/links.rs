//! Faults of the links between machines, and of those to the metadata store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::ensemble::index;
use crate::world::{MACHINES, World};

/// The longest time for which a broker answers as the leader after it has last heard of the store.
const LEASE: Duration = Duration::from_secs(4);

pub(super) async fn cut_in_both_directions(world: &World, machine: usize) {
    world.note("cut in both directions", &[index(machine)]);
    for other in others(machine) {
        world.network.cut(machine, other);
        world.network.cut(other, machine);
    }
    sleep(world.millis(500, 12_000)).await;
    world.network.repair(machine);
}

pub(super) async fn cut_in_one_direction(world: &World, machine: usize) {
    let other = (machine + 1 + world.index(MACHINES - 1)) % MACHINES;
    world.note("cut in one direction", &[index(machine), index(other)]);
    world.network.cut(machine, other);
    sleep(world.millis(500, 12_000)).await;
    world.network.repair(machine);
}

pub(super) async fn cut_off_from_store(world: &World, machine: usize) {
    world.note("cut off from the store", &[index(machine)]);
    world.ensemble.cut_off(machine);
    sleep(world.millis(500, 12_000)).await;
    world.ensemble.repair(machine);
}

/// Takes the store away from all machines, so that leaders go on by proof.
pub(super) async fn lose_store(world: Arc<World>) {
    world.note("store away", &[]);
    (0..MACHINES).for_each(|machine| world.ensemble.cut_off(machine));
    sleep(world.millis(4_000, 16_000)).await;
    (0..MACHINES).for_each(|machine| world.ensemble.repair(machine));
}

/// Cuts a machine off from the store for moments, so that answers are lost.
pub(super) async fn break_connection_to_store(world: &World, machine: usize) {
    world.note("connection to the store broken", &[index(machine)]);
    for _ in 0..=world.below(20) {
        world.ensemble.cut_off(machine);
        sleep(world.millis(1, 60)).await;
        world.ensemble.repair(machine);
        sleep(world.millis(1, 900)).await;
    }
}

/// Ends the session of a broker that lives, as early as its lease permits.
pub(super) async fn expire(world: &World, machine: usize) {
    world.note("expired while alive", &[index(machine)]);
    world.ensemble.cut_off(machine);
    sleep(LEASE).await;
    world.ensemble.expire(machine);
    sleep(world.millis(0, 4_000)).await;
    world.ensemble.repair(machine);
}

fn others(machine: usize) -> impl Iterator<Item = usize> {
    (0..MACHINES).filter(move |other| *other != machine)
}
