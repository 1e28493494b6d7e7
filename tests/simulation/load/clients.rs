//! The clients: producers of unique values, some of them idempotent, consumers that read up to the
//! high watermark, members of a group, and an operator.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use streamlog::record::{BatchBuilder, BatchSettings, Batches, Compressor, Limits, ProducerStamp};
use streamlog::replication::Acks;
use streamlog::types::{Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp};
use tokio::time::sleep;

use super::member::Member;
use crate::network::Place;
use crate::world::{MACHINES, PARTITIONS, World};

/// The numbers of clients.
const PRODUCERS: usize = 4;
const IDEMPOTENT_PRODUCERS: usize = 2;
const CONSUMERS: usize = 2;
const MEMBERS: usize = 3;

/// The settings that an operator changes, with their values.
const SETTINGS: &[(&str, &[&str])] = &[
    ("min.insync.replicas", &["1", "2", "2", "3"]),
    ("min.insync.replicas", &["1", "2", "2", "3"]),
    ("flush.ms", &["1", "50", "400"]),
    ("flush.messages", &["1", "20", "10000"]),
    ("flush.on.demand", &["true", "false"]),
    ("segment.bytes", &["1024", "4096", "65536"]),
];

/// The setting that an operator changes in some runs.
const CACHING: (&str, &[&str]) = ("write.caching", &["true", "false"]);

/// The most records of a batch.
const RECORDS_MAX: u64 = 3;

/// One batch in this many asks for the acknowledgement of the leader alone.
const LEADER_ONLY_ONE_IN: u64 = 8;

/// The time that all records carry.
const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Starts all clients.
pub(crate) fn start(world: &Arc<World>) {
    for _ in 0..PRODUCERS {
        world.start(produce(Arc::clone(world)));
    }
    for index in 0..IDEMPOTENT_PRODUCERS {
        world.start(produce_once(Arc::clone(world), index));
    }
    for _ in 0..CONSUMERS {
        world.start(consume(Arc::clone(world)));
    }
    if world.has_group {
        for _ in 0..MEMBERS {
            world.start(Member::new(world).take_part());
        }
    }
    world.start(operate(Arc::clone(world)));
}

/// Produces until the load ends.
async fn produce(world: Arc<World>) {
    let mut leaders = [0; PARTITIONS];
    while world.is_loaded.load(Ordering::Relaxed) {
        sleep(world.millis(20, 300)).await;
        let index = world.index(PARTITIONS);
        let number = partition(index);
        let acks = if world.chance(LEADER_ONLY_ONE_IN) { Acks::Leader } else { Acks::All };
        let values: Vec<u64> = (0..=world.below(RECORDS_MAX)).map(|_| world.next_value()).collect();
        let Some(floor) = world.check(|checkers| Ok(checkers.floor(number))) else { return };
        let (to, batch) = (leaders[index], batch_of(&values, None));
        let answer =
            world.ask((Place::Clients, to), move |broker| broker.produce((number, acks), batch));
        let Some(acknowledged) = answer.await.flatten() else {
            leaders[index] = world.index(MACHINES);
            continue;
        };
        let base = acknowledged.base_offset.get();
        let name = if acks == Acks::All { "acknowledged" } else { "acknowledged by the leader" };
        world.note(name, &[number.0.into(), base, acknowledged.epoch.0.into()]);
        world.check(|checkers| {
            checkers.leaders.heard((number, acknowledged.epoch), floor.epoch)?;
            match acks {
                Acks::All => checkers.acknowledged(number, base, &values),
                Acks::Leader | Acks::None => Ok(()),
            }
        });
    }
}

/// Produces to one partition until the load ends, and repeats each batch until it is acknowledged.
async fn produce_once(world: Arc<World>, index: usize) {
    let number = partition(index % PARTITIONS);
    let id = ProducerId(i64::try_from(index).unwrap() + 1);
    let (mut leader, mut base_sequence) = (0, 0);
    loop {
        sleep(world.millis(20, 300)).await;
        let values: Vec<u64> = (0..=world.below(RECORDS_MAX)).map(|_| world.next_value()).collect();
        let stamp = ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence };
        let batch = batch_of(&values, Some(stamp));
        let mut tries = 0;
        let (acknowledged, floor) = loop {
            if !world.is_loaded.load(Ordering::Relaxed) {
                return;
            }
            let Some(floor) = world.check(|checkers| Ok(checkers.floor(number))) else { return };
            let (to, batch) = ((Place::Clients, leader), batch.clone());
            let answer = world.ask(to, move |broker| broker.produce((number, Acks::All), batch));
            if let Some(acknowledged) = answer.await.flatten() {
                break (acknowledged, floor);
            }
            tries += 1;
            leader = world.index(MACHINES);
            sleep(world.millis(20, 300)).await;
        };
        let name = if tries == 0 { "acknowledged at once" } else { "acknowledged when repeated" };
        let base = acknowledged.base_offset.get();
        world.note(name, &[number.0.into(), base, acknowledged.epoch.0.into()]);
        world.check(|checkers| {
            checkers.leaders.heard((number, acknowledged.epoch), floor.epoch)?;
            checkers.acknowledged(number, base, &values)
        });
        base_sequence += i32::try_from(values.len()).unwrap();
    }
}

/// Reads until the load ends: what is new, and now and then from anywhere.
async fn consume(world: Arc<World>) {
    let (mut leaders, mut next) = ([0; PARTITIONS], [0_i64; PARTITIONS]);
    while world.is_loaded.load(Ordering::Relaxed) {
        sleep(world.millis(20, 300)).await;
        let index = world.index(PARTITIONS);
        let number = partition(index);
        let behind = next[index].cast_unsigned();
        let from =
            if world.chance(4) { world.below(behind + 1).cast_signed() } else { next[index] };
        let Some(floor) = world.check(|checkers| Ok(checkers.floor(number))) else { return };
        let to = leaders[index];
        let answer = world.ask((Place::Clients, to), move |broker| broker.read(number, from));
        let Some(shown) = answer.await.flatten() else {
            leaders[index] = world.index(MACHINES);
            continue;
        };
        let watermark = shown.high_watermark.map_or(-1, Offset::get);
        world.note("read", &[number.0.into(), from, watermark, shown.epoch.0.into()]);
        world.check(|checkers| {
            checkers.leaders.heard((number, shown.epoch), floor.epoch)?;
            if let Some(watermark) = shown.high_watermark {
                checkers.watermarks.heard((number, watermark), floor.watermark)?;
            }
            checkers.shown(number, &shown.records)
        });
        if let Some((last, _)) = shown.records.last() {
            next[index] = next[index].max(last + 1);
        }
    }
}

/// Changes settings of the topic, now and then.
async fn operate(world: Arc<World>) {
    while world.is_loaded.load(Ordering::Relaxed) {
        sleep(world.millis(2_000, 20_000)).await;
        let is_caching = world.is_caching && world.chance(2);
        let (name, values) =
            if is_caching { CACHING } else { SETTINGS[world.index(SETTINGS.len())] };
        let (to, chosen) = (world.index(MACHINES), world.index(values.len()));
        let (places, value) = ((Place::Clients, to), values[chosen]);
        let set = world.ask(places, move |broker| broker.set(name, value)).await;
        if set == Some(true) {
            let is_minimum = name == "min.insync.replicas";
            let what = if is_minimum { "minimum changed" } else { "setting changed" };
            world.note(what, &[i64::try_from(chosen).unwrap()]);
            if is_caching {
                world.note("caching changed", &[]);
            }
        }
    }
}

fn partition(index: usize) -> PartitionIndex {
    PartitionIndex(i32::try_from(index).unwrap())
}

/// A batch of these values, perhaps of an idempotent producer.
fn batch_of(values: &[u64], producer: Option<ProducerStamp>) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.push(NOW, None, Some(&value.to_be_bytes()), &[]).unwrap();
    }
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    builder.build(&settings, &mut Compressor::none()).unwrap()
}

/// The offsets and values of all records of some batches.
pub(crate) fn records_in(bytes: &[u8]) -> Vec<(i64, u64)> {
    let mut found = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        for record in batch.records(batch.payload(), &Limits::default()) {
            let record = record.unwrap();
            let value = record.value.and_then(|value| value.try_into().ok()).unwrap();
            found.push((batch.offset_of(&record).get(), u64::from_be_bytes(value)));
        }
    }
    found
}
