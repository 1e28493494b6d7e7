//! The faults of a run, chosen at random: each machine has one at a time.

mod links;
mod node_edits;
mod processes;
mod storage;
mod store_edits;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use crate::ensemble::index;
use crate::faults::storage::Loss;
use crate::machine::Machine;
use crate::world::{MACHINES, World};

/// One fault in this many takes the power from all machines, if all are sound.
const BLACKOUT_ONE_IN: u64 = 12;

/// One fault in this many lets one machine lag, and ends the others one after the other.
const SUCCESSION_ONE_IN: u64 = 12;

/// One fault in this many comes with an outage of the whole store.
const STORE_OUTAGE_ONE_IN: u64 = 15;

/// One fault in this many comes with the deletion of a partition's state.
const STATE_EDIT_ONE_IN: u64 = 25;

/// One fault in this many comes with an edit of another node.
const NODE_EDIT_ONE_IN: u64 = 12;

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
        let is_blackout =
            sound.len() == MACHINES && !world.is_caching && world.chance(BLACKOUT_ONE_IN);
        // The other machines have everything that was promised.
        let loss = (is_blackout && world.is_in_sync() && world.chance(2)).then(|| a_loss(world));
        if is_blackout {
            world.note("blackout", &[]);
        }
        if world.chance(STORE_OUTAGE_ONE_IN) {
            world.start(links::lose_store(Arc::clone(world)));
        }
        if world.chance(STATE_EDIT_ONE_IN) {
            world.start(store_edits::edit_state(Arc::clone(world)));
        }
        if world.chance(NODE_EDIT_ONE_IN) {
            world.start(node_edits::edit_node(Arc::clone(world)));
        }
        let is_succession =
            sound.len() == MACHINES && !is_blackout && world.chance(SUCCESSION_ONE_IN);
        let concerns_all = is_blackout || is_succession;
        let concerned = if concerns_all { (0..MACHINES).collect() } else { vec![one] };
        for machine in concerned {
            world.machines[machine].is_faulty.store(true, Ordering::Relaxed);
            let injected = Arc::clone(world);
            world.start(async move {
                let world = injected;
                if is_blackout {
                    let lossy = loss.map(|loss| (one, loss));
                    processes::black_out(&world, machine, lossy).await;
                } else if is_succession && machine == one {
                    links::cut_in_both_directions(&world, machine).await;
                } else if is_succession {
                    sleep(world.millis(100, 4_000)).await;
                    processes::kill(&world, machine).await;
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

/// The loss of a disk in a blackout.
fn a_loss(world: &World) -> Loss {
    match world.below(8) {
        0 | 1 => Loss::Log,
        2 => Loss::Segment,
        3 | 4 => Loss::End,
        5 | 6 => Loss::Newest,
        _ => Loss::Disk,
    }
}

async fn inject_one(world: &Arc<World>, machine: usize) {
    let counts_as_caching = world.counts_as_caching().await;
    match world.below(100) {
        0..16 if !counts_as_caching => {
            if world.is_caching {
                world.note("power cut after caching", &[index(machine)]);
            }
            processes::cut_power(world, machine).await;
        }
        16..31 => processes::pause(world, machine).await,
        31..38 => links::cut_in_both_directions(world, machine).await,
        38..45 => links::cut_in_one_direction(world, machine).await,
        45..50 => links::cut_off_from_store(world, machine).await,
        50..55 => links::break_connection_to_store(world, machine).await,
        55..61 => links::expire(world, machine).await,
        61..64 => storage::slow_flushes(world, machine).await,
        64..66 => isolate_with_slow_disk(world, machine).await,
        66..70 if !world.is_caching => storage::failing_syncs(world, machine).await,
        70..74 => storage::full_disk(world, machine).await,
        74..77 => processes::jump_clock(world, machine).await,
        77..82 => processes::restart(world, machine).await,
        82..85 if may_lose_disk(world) => storage::empty_disk(world, machine).await,
        85..87 => store_edits::delete_known_broker(world, machine).await,
        87..90 if may_lose_disk(world) => storage::roll_back_disk(world, machine).await,
        _ => processes::kill(world, machine).await,
    }
}

/// Leaves a machine that flushes slowly alone until others lead in its place. Its logs are
/// truncated when it returns, some of them while they are flushed.
async fn isolate_with_slow_disk(world: &Arc<World>, machine: usize) {
    tokio::join!(
        storage::slow_flushes(world, machine),
        links::cut_in_both_directions(world, machine),
        links::expire(world, machine),
    );
}
