//! The faults of a run, chosen at random: each machine has one at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use streamlog::metadata::MemoryStore;
use tokio::time::sleep;

use crate::ensemble::index;
use crate::machine::Machine;
use crate::world::{MACHINES, World};

/// The longest time for which a broker answers as the leader after it has last heard of the store.
const LEASE: Duration = Duration::from_secs(4);

/// One fault in this many takes the power from all machines, if all are sound.
const BLACKOUT_ONE_IN: u64 = 12;

/// The longest wait for a broker with an empty disk to be in sync again.
const REFILL_MAX: Duration = Duration::from_mins(1);

/// Begins faults for a while. The last ones end some seconds later.
pub(crate) async fn inject(world: &Arc<World>, time: Duration) {
    let until = world.clock.elapsed() + time;
    while world.clock.elapsed() < until && !world.is_broken() {
        sleep(world.millis(300, 3_000)).await;
        let sound: Vec<_> = world.machines.iter().filter(|machine| is_sound(machine)).collect();
        // A majority of the machines is sound, most of the time.
        if sound.is_empty() || (sound.len() == 1 && !world.chance(6)) {
            continue;
        }
        let one = sound[world.index(sound.len())].index;
        let is_blackout = sound.len() == MACHINES && world.chance(BLACKOUT_ONE_IN);
        if is_blackout {
            world.note("blackout", &[]);
        }
        let concerned = if is_blackout { (0..MACHINES).collect() } else { vec![one] };
        for machine in concerned {
            world.machines[machine].is_faulty.store(true, Ordering::Relaxed);
            let injected = Arc::clone(world);
            world.start(async move {
                let world = injected;
                if is_blackout {
                    cut_power(&world, machine).await;
                } else {
                    inject_one(&world, machine).await;
                }
                world.machines[machine].is_faulty.store(false, Ordering::Relaxed);
            });
        }
    }
}

/// Waits until no fault is in force.
pub(crate) async fn ended(world: &World) {
    while !world.machines.iter().all(is_sound) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn is_sound(machine: &Machine) -> bool {
    !machine.is_faulty.load(Ordering::Relaxed)
}

/// True if the other machines have everything that was promised.
fn may_lose_disk(world: &World) -> bool {
    let faulty = world.machines.iter().filter(|machine| !is_sound(machine)).count();
    faulty == 1 && world.is_in_sync()
}

async fn inject_one(world: &Arc<World>, machine: usize) {
    match world.below(100) {
        18..36 => cut_power(world, machine).await,
        36..52 => pause(world, machine).await,
        52..60 => cut_in_both_directions(world, machine).await,
        60..68 => cut_in_one_direction(world, machine).await,
        68..73 => cut_off_from_store(world, machine).await,
        73..78 => break_connection_to_store(world, machine).await,
        78..84 => expire(world, machine).await,
        84..89 => slow_flushes(world, machine).await,
        89..94 => restart(world, machine).await,
        94..97 if may_lose_disk(world) => empty_disk(world, machine).await,
        97..100 if may_lose_disk(world) => roll_back_disk(world, machine).await,
        _ => kill(world, machine).await,
    }
}

async fn kill(world: &Arc<World>, machine: usize) {
    world.note("killed", &[index(machine)]);
    world.machines[machine].kill().await;
    if world.chance(2) {
        // As the guard of a process does.
        world.ensemble.expire(machine);
    }
    sleep(world.millis(0, 9_000)).await;
    world.machines[machine].start(world);
}

async fn cut_power(world: &Arc<World>, machine: usize) {
    world.note("power cut", &[index(machine)]);
    world.machines[machine].cut_power(world.below(u64::MAX)).await;
    if world.chance(2) {
        world.machines[machine].copy_disk(world.below(u64::MAX));
    }
    sleep(world.millis(0, 9_000)).await;
    world.machines[machine].start(world);
}

async fn pause(world: &World, machine: usize) {
    let time = world.millis(100, 14_000);
    world.note("paused", &[index(machine)]);
    world.machines[machine].gate.close();
    sleep(time).await;
    if time > MemoryStore::SESSION_TIMEOUT {
        world.note("paused beyond the session", &[index(machine)]);
    }
    world.machines[machine].gate.open();
}

async fn cut_in_both_directions(world: &World, machine: usize) {
    world.note("cut in both directions", &[index(machine)]);
    for other in others(machine) {
        world.network.cut(machine, other);
        world.network.cut(other, machine);
    }
    sleep(world.millis(500, 12_000)).await;
    world.network.repair(machine);
}

async fn cut_in_one_direction(world: &World, machine: usize) {
    let other = (machine + 1 + world.index(MACHINES - 1)) % MACHINES;
    world.note("cut in one direction", &[index(machine), index(other)]);
    world.network.cut(machine, other);
    sleep(world.millis(500, 12_000)).await;
    world.network.repair(machine);
}

async fn cut_off_from_store(world: &World, machine: usize) {
    world.note("cut off from the store", &[index(machine)]);
    world.ensemble.cut_off(machine);
    sleep(world.millis(500, 12_000)).await;
    world.ensemble.repair(machine);
}

/// Cuts a machine off from the store for moments, so that answers are lost.
async fn break_connection_to_store(world: &World, machine: usize) {
    world.note("connection to the store broken", &[index(machine)]);
    for _ in 0..=world.below(20) {
        world.ensemble.cut_off(machine);
        sleep(world.millis(1, 60)).await;
        world.ensemble.repair(machine);
        sleep(world.millis(1, 900)).await;
    }
}

/// Ends the session of a broker that lives, as early as its lease permits.
async fn expire(world: &World, machine: usize) {
    world.note("expired while alive", &[index(machine)]);
    world.ensemble.cut_off(machine);
    sleep(LEASE).await;
    world.ensemble.expire(machine);
    sleep(world.millis(0, 4_000)).await;
    world.ensemble.repair(machine);
}

async fn slow_flushes(world: &World, machine: usize) {
    world.note("flush slowed", &[index(machine)]);
    let slow = &world.machines[machine].is_flushing_slowly;
    slow.store(true, Ordering::Relaxed);
    sleep(world.millis(3_000, 12_000)).await;
    slow.store(false, Ordering::Relaxed);
}

/// Restarts a broker in order.
async fn restart(world: &Arc<World>, machine: usize) {
    world.note("broker stopped in order", &[index(machine)]);
    world.machines[machine].stop().await;
    sleep(world.millis(0, 4_000)).await;
    world.machines[machine].start(world);
}

/// Gives a machine an empty disk, and lets its broker fetch everything again.
async fn empty_disk(world: &Arc<World>, machine: usize) {
    world.note("disk emptied", &[index(machine)]);
    world.machines[machine].kill().await;
    world.machines[machine].empty_disk(world.below(u64::MAX));
    refill(world, machine).await;
}

/// Gives a machine an older copy of its disk, and lets its broker fetch what it lacks.
async fn roll_back_disk(world: &Arc<World>, machine: usize) {
    world.machines[machine].kill().await;
    if world.machines[machine].roll_back_disk() {
        world.note("disk rolled back", &[index(machine)]);
    }
    refill(world, machine).await;
}

/// Starts a broker that lacks records, and waits until it has them.
async fn refill(world: &Arc<World>, machine: usize) {
    sleep(world.millis(0, 9_000)).await;
    world.machines[machine].start(world);
    let until = world.clock.elapsed() + REFILL_MAX;
    while !world.is_in_sync() && world.clock.elapsed() < until {
        sleep(Duration::from_millis(100)).await;
    }
}

fn others(machine: usize) -> impl Iterator<Item = usize> {
    (0..MACHINES).filter(move |other| *other != machine)
}
