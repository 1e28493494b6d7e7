//! Faults of processes and of the power.

use std::sync::Arc;

use streamlog::metadata::MemoryStore;
use tokio::time::sleep;

use crate::ensemble::index;
use crate::faults::storage::{self, Loss};
use crate::world::World;

/// One machine in this many is started on the disk of another first, after a blackout.
const DISK_OF_ANOTHER_ONE_IN: u64 = 8;

/// The most milliseconds by which a wall clock is wrong: a year.
const WALL_ERROR_MAX: u64 = 365 * 24 * 3_600_000;

pub(super) async fn kill(world: &Arc<World>, machine: usize) {
    world.note("killed", &[index(machine)]);
    world.machines[machine].kill().await;
    if world.chance(2) {
        // As the guard of a process does.
        world.ensemble.prove_end(machine);
    }
    if world.chance(4) {
        world.machines[machine].copy_disk(world.below(u64::MAX));
    }
    sleep(world.millis(0, 9_000)).await;
    world.machines[machine].start(world);
}

pub(super) async fn cut_power(world: &Arc<World>, machine: usize) {
    world.note("power cut", &[index(machine)]);
    world.machines[machine].cut_power(world.below(u64::MAX)).await;
    if world.chance(2) {
        world.machines[machine].copy_disk(world.below(u64::MAX));
    }
    sleep(world.millis(0, 9_000)).await;
    world.machines[machine].start(world);
}

/// Cuts the power like `cut_power`, as it is cut from all machines. One of them is `lossy` if its
/// disk returns with a loss. All sessions have ended by then. If those of the others ended first,
/// they could leave the in-sync set, and with a minimum of 1 nobody but the lost replica could
/// lead.
pub(super) async fn black_out(world: &Arc<World>, machine: usize, lossy: Option<(usize, Loss)>) {
    let place = &world.machines[machine];
    world.note("power cut", &[index(machine)]);
    place.cut_power(world.below(u64::MAX)).await;
    if lossy.is_some() {
        world.ensemble.expire(machine);
    }
    if let Some((_, loss)) = lossy.filter(|(concerned, _)| *concerned == machine) {
        storage::lose(world, machine, loss);
    }
    sleep(world.millis(0, 9_000)).await;
    if world.chance(DISK_OF_ANOTHER_ONE_IN) {
        storage::start_on_disk_of_another(world, machine).await;
    }
    place.start(world);
}

pub(super) async fn pause(world: &World, machine: usize) {
    let time = world.millis(100, 14_000);
    world.note("paused", &[index(machine)]);
    world.machines[machine].gate.close();
    sleep(time).await;
    if time > MemoryStore::SESSION_TIMEOUT {
        world.note("paused beyond the session", &[index(machine)]);
    }
    world.machines[machine].gate.open();
}

/// Restarts a broker in order.
pub(super) async fn restart(world: &Arc<World>, machine: usize) {
    world.note("broker stopped in order", &[index(machine)]);
    world.machines[machine].stop().await;
    sleep(world.millis(0, 4_000)).await;
    world.machines[machine].start(world);
}

/// Sets the wall clock of a machine wrong, and mostly right again.
pub(super) async fn jump_clock(world: &World, machine: usize) {
    world.note("wall clock jumped", &[index(machine)]);
    let wrong = world.below(2 * WALL_ERROR_MAX).cast_signed() - WALL_ERROR_MAX.cast_signed();
    world.machines[machine].clock.set_wall_error(wrong);
    sleep(world.millis(1_000, 9_000)).await;
    if !world.chance(4) {
        world.machines[machine].clock.set_wall_error(0);
    }
}
