//! Faults of disks: slow, failing, full, lost ones, and those of other machines.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use streamlog::io::faulty::{Failure, Fault, Operation};
use tokio::time::sleep;

use crate::checkers::Violation;
use crate::disks;
use crate::ensemble::index;
use crate::machine::Machine;
use crate::world::World;

/// The loss of a disk that returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The log of a partition.
    Log,
    /// The last segment of a log.
    Segment,
    /// The end of a log.
    End,
    /// Whatever was written since a copy was made, or the end of a log if there is no copy.
    Newest,
    /// Everything.
    Disk,
}

/// The longest wait until a broker has refused to start on the disk of another.
const REFUSED_MAX: Duration = Duration::from_secs(12);

/// The longest wait for a broker with an empty disk to be in sync again.
const REFILL_MAX: Duration = Duration::from_mins(1);

pub(super) async fn slow_flushes(world: &World, machine: usize) {
    world.note("flush slowed", &[index(machine)]);
    let slow = &world.machines[machine].is_flushing_slowly;
    slow.store(true, Ordering::Relaxed);
    sleep(world.millis(3_000, 12_000)).await;
    slow.store(false, Ordering::Relaxed);
}

/// Longer than a flush takes.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// Lets a sync fail, which ends the process, and repairs the disk.
pub(super) async fn failing_syncs(world: &Arc<World>, machine: usize) {
    world.note("sync fails", &[index(machine)]);
    let operation = if world.chance(6) { Operation::SyncDir } else { Operation::SyncData };
    let failure = if world.chance(3) { Failure::NoSpace } else { Failure::InputOutput };
    let failure = world.planted.failed_sync(failure);
    let fault = Fault::new(operation, failure).at_call(1 + world.below(30));
    with_bad_disk(world, machine, fault.times(1 + world.below(3))).await;
}

/// Leaves no space on a disk for a while.
pub(super) async fn full_disk(world: &Arc<World>, machine: usize) {
    world.note("disk full", &[index(machine)]);
    let fault = Fault::new(Operation::Write, Failure::NoSpace).at_call(1 + world.below(30));
    with_bad_disk(world, machine, fault.for_ever()).await;
}

/// Lets the disk of a machine fail for a while, and starts a broker that this has ended.
async fn with_bad_disk(world: &Arc<World>, machine: usize, fault: Fault) {
    let place = &world.machines[machine];
    place.has_bad_disk.store(true, Ordering::Relaxed);
    let disk = place.disk();
    disk.inject(fault);
    sleep(world.millis(1_000, 8_000)).await;
    disk.clear_faults();
    world.planted.plant_in(&disk);
    // A sync that has failed is reported at the end of its flush.
    sleep(FLUSH_MAX).await;
    if place.has_failed() {
        if world.chance(3) {
            place.cut_power(world.below(u64::MAX)).await;
        } else {
            place.kill().await;
        }
        sleep(world.millis(0, 4_000)).await;
        place.start(world);
    }
    place.has_bad_disk.store(false, Ordering::Relaxed);
}

/// Lets a disk lose something; the broker has ended.
pub(super) fn lose(world: &World, machine: usize, loss: Loss) {
    let place = &world.machines[machine];
    let partitions = world.partitions();
    let partition = &partitions[world.index(partitions.len())];
    let (name, is_lost) = match loss {
        Loss::Log => ("log removed", disks::remove_log(&place.disk(), partition, true)),
        Loss::Segment => ("segment removed", disks::remove_log(&place.disk(), partition, false)),
        Loss::Newest if place.roll_back_disk() => ("older disk in a blackout", true),
        Loss::End | Loss::Newest => {
            let percent = world.below(100);
            ("log cut", disks::cut_log(&place.disk(), partition, percent))
        }
        Loss::Disk => {
            place.empty_disk(world.below(u64::MAX));
            ("empty disk in a blackout", true)
        }
    };
    if is_lost {
        world.planted.plant_in(&place.disk());
        world.note(name, &[index(machine)]);
    }
}

/// Starts a broker on a copy of another's disk, which it is to refuse, and gives it back its own.
pub(super) async fn start_on_disk_of_another(world: &Arc<World>, machine: usize) {
    let place = &world.machines[machine];
    let other = &world.machines[(machine + 1) % world.machines.len()];
    let Some(copy) = disks::copy_of(&other.disk(), world.below(u64::MAX)) else { return };
    // The other may be on the disk of another as well, or its own may be empty.
    if !disks::is_of(&copy, other.id()) {
        return;
    }
    let own = place.replace_disk(copy);
    place.start(world);
    let until = world.clock.elapsed() + REFUSED_MAX;
    let refusal = format!("belongs to broker {}", other.id());
    let is_refused = || place.start_failure().is_some_and(|reason| reason.contains(&refusal));
    // It may wait for the store, or for the end of its last session.
    while !is_refused() && place.broker().is_none() && world.clock.elapsed() < until {
        sleep(Duration::from_millis(100)).await;
    }
    if is_refused() {
        world.note("disk of another refused", &[index(machine)]);
    } else if place.broker().is_some() {
        let invariant = "no broker starts on the disk of another";
        world.check(|_| Err::<(), _>(Violation::new(invariant, place.id().to_string())));
    }
    place.kill().await;
    place.replace_disk(own);
}

/// Gives a machine an empty disk, and lets its broker fetch everything again.
pub(super) async fn empty_disk(world: &Arc<World>, machine: usize) {
    if ends_before_others(world, machine).await {
        world.note("disk emptied", &[index(machine)]);
        world.machines[machine].empty_disk(world.below(u64::MAX));
        world.planted.plant_in(&world.machines[machine].disk());
    }
    refill(world, machine).await;
}

/// Gives a machine an older copy of its disk, and lets its broker fetch what it lacks.
pub(super) async fn roll_back_disk(world: &Arc<World>, machine: usize) {
    if ends_before_others(world, machine).await && world.machines[machine].roll_back_disk() {
        world.planted.plant_in(&world.machines[machine].disk());
        world.note("disk rolled back", &[index(machine)]);
    }
    refill(world, machine).await;
}

/// Ends a broker and its session, and returns true if all other replicas are in sync: then the
/// machine may lose its disk. It takes longer to replace a disk than to end a session. If the
/// session went on, the other members could leave the in-sync set first, and then only the lost
/// replica could lead.
async fn ends_before_others(world: &Arc<World>, machine: usize) -> bool {
    world.machines[machine].kill().await;
    if world.chance(2) {
        world.ensemble.prove_end(machine);
    } else {
        world.ensemble.expire(machine);
    }
    for partition in world.partitions() {
        let Some(state) = world.ensemble.state(&partition).await else { return false };
        let members = state["isr"].as_array().unwrap();
        let others = world.machines.iter().filter(|other| other.index != machine);
        if !others.map(Machine::id).all(|other| members.iter().any(|id| *id == other.0)) {
            return false;
        }
    }
    true
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
