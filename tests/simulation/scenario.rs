//! A run: a cluster under load and faults, then repaired, and judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use streamlog::metadata::NewTopic;
use streamlog::replication::Partition;
use streamlog::types::{Offset, TopicId};
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::broker::{Broker, LogReader};
use crate::checkers::{Checkers, Records, Replica, Violation};
use crate::ensemble::Ensemble;
use crate::events::Events;
use crate::load::{self, records_in};
use crate::world::{MACHINES, PARTITIONS, TOPIC, World};
use crate::zoo::Planted;
use crate::{faults, machine::Machine};

/// The time during which faults begin.
const FAULTS: Duration = Duration::from_mins(2);

/// The longest time until everything is in sync, after a start and after the last fault.
const IN_SYNC_MAX: Duration = Duration::from_mins(2);

/// The longest time until all replicas have all records, after the last of them was produced.
const CAUGHT_UP_MAX: Duration = Duration::from_secs(30);

/// The number of commits that show that the group works, and the longest time until then.
const COMMITS: u64 = 5;
const COMMITS_MAX: Duration = Duration::from_mins(1);

/// The interval at which replicas are compared.
const COMPARISON: Duration = Duration::from_millis(700);

/// The interval of looks at what is awaited.
const LOOK: Duration = Duration::from_millis(50);

/// The result of a run.
pub(crate) struct Report {
    pub(crate) events: Events,
    /// The first invariant that it broke, if any.
    pub(crate) violation: Option<Violation>,
    /// The simulated time.
    pub(crate) time: Duration,
}

impl Report {
    /// The result of a run that has panicked.
    pub(crate) fn panicked() -> Self {
        let violation = Violation::new("nothing panics", String::new());
        Self { events: Events::default(), violation: Some(violation), time: Duration::ZERO }
    }
}

/// Runs a seed with what is wrong on purpose.
pub(crate) fn run(seed: u64, planted: Planted) -> Report {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let world = World::new(seed, planted);
        let _log = tracing::subscriber::set_default(LogReader::of(&world));
        world.start(Ensemble::end_silent_sessions(Arc::clone(&world)));
        world.start(Arc::clone(&world).deliver());
        live(&world).await;
        let (events, violation) = world.end().await;
        Report { events, violation, time: world.clock.elapsed() }
    })
}

async fn live(world: &Arc<World>) {
    for machine in &world.machines {
        machine.start(world);
    }
    create_topic(world).await;
    if world.has_group {
        load::create_offsets_topic(world).await;
    }
    if !reached("all replicas are in sync at first", world, IN_SYNC_MAX, World::is_in_sync).await {
        return;
    }
    world.ensemble.loses_connections.store(true, Ordering::Relaxed);
    load::start(world);
    world.start(compare_replicas(Arc::clone(world)));
    faults::inject(world, FAULTS).await;
    faults::ended(world).await;
    if world.is_broken()
        || !reached("all replicas are in sync again", world, IN_SYNC_MAX, World::is_in_sync).await
    {
        return;
    }
    let before = world.count(load::COMMITTED);
    let commits =
        |world: &World| !world.has_group || world.count(load::COMMITTED) >= before + COMMITS;
    if !reached("the group commits again", world, COMMITS_MAX, commits).await {
        return;
    }
    world.is_loaded.store(false, Ordering::Relaxed);
    let caught_up = "all replicas have all records again";
    if reached(caught_up, world, CAUGHT_UP_MAX, are_caught_up).await {
        judge_logs(world);
        if world.has_group {
            load::judge_offsets(world).await;
        }
    }
}

/// Creates the topic as soon as a broker can, with replicas on all machines.
async fn create_topic(world: &Arc<World>) {
    let ids: Vec<_> = world.machines.iter().map(Machine::id).collect();
    let assignment = (0..PARTITIONS).map(|first| {
        let mut replicas = ids.clone();
        replicas.rotate_left(first % MACHINES);
        replicas
    });
    let topic = NewTopic {
        // A fetch orders its partitions by topic id, and that of the other topic is random.
        id: TopicId(1_u128.to_be_bytes()),
        assignment: assignment.collect(),
        ..NewTopic::named(TOPIC.parse().unwrap())
    };
    let known = |world: &World| {
        let brokers = world.machines.iter().filter_map(Machine::broker);
        brokers.filter(|broker| broker.image().brokers().count() == MACHINES).count() == MACHINES
    };
    if !reached("all brokers are registered", world, IN_SYNC_MAX, known).await {
        return;
    }
    if world.count("not started") > 0 {
        let invariant = "brokers that start together start";
        world.check(|_| Err::<(), _>(Violation::new(invariant, String::new())));
    }
    while let Some(broker) = world.machines[0].broker()
        && !broker.create_topic(&topic).await
    {
        sleep(LOOK).await;
    }
}

/// Waits for something that must come about; its absence breaks the invariant of this name.
async fn reached(
    invariant: &'static str,
    world: &World,
    within: Duration,
    is_so: impl Fn(&World) -> bool,
) -> bool {
    let begun = world.clock.elapsed();
    while !is_so(world) {
        if world.is_over(invariant, begun, within) {
            return false;
        }
        sleep(LOOK).await;
    }
    true
}

/// Compares the replicas at intervals.
async fn compare_replicas(world: Arc<World>) {
    loop {
        sleep(COMPARISON).await;
        let brokers: Vec<_> = world.machines.iter().filter_map(Machine::broker).collect();
        for replica in brokers.iter().flat_map(|broker| broker.replicas()) {
            if let Some(found) = Replica::shown(&replica) {
                world.check(|checkers| checkers.replicas.compare(found));
            }
        }
        for replica in brokers.iter().flat_map(|broker| broker.replicas()) {
            let state = world.ensemble.state(replica.id()).await;
            let broker = brokers.iter().find(|broker| broker.id() == replica.broker());
            let may_lead = broker.is_some_and(|broker| state.is_some_and(|s| broker.may_lead(&s)));
            let stored = if world.is_caching {
                Replica::whole(&replica)
            } else {
                Replica::flushed(&replica)
            };
            if let Some(found) = stored.filter(|_| may_lead) {
                world.check(|checkers| checkers.replicas.lacks_nothing(&found));
            }
        }
    }
}

/// True if all replicas show everything up to the same log end.
fn are_caught_up(world: &World) -> bool {
    let brokers: Vec<_> = world.machines.iter().filter_map(Machine::broker).collect();
    let ends = |broker: &Arc<Broker>| -> Option<Vec<Offset>> {
        let end = |replica: &Arc<Partition>| {
            let end = replica.log()?.log_end_offset();
            (replica.high_watermark() == end).then_some(end)
        };
        broker.replicas().iter().map(end).collect()
    };
    let ends: Vec<_> = brokers.iter().map(ends).collect();
    brokers.len() == MACHINES && ends[0].is_some() && ends.iter().all(|found| *found == ends[0])
}

/// Judges the whole logs of all replicas.
fn judge_logs(world: &World) {
    for broker in world.machines.iter().filter_map(Machine::broker) {
        for replica in broker.replicas() {
            let id = replica.id();
            let Some(found) = Replica::shown(&replica) else { continue };
            if id.topic.as_str() != TOPIC {
                world.check(|checkers| checkers.replicas.compare(found));
                continue;
            }
            let records = records_in(found.bytes());
            let log: Records = records.iter().copied().collect();
            let judge = |checkers: &mut Checkers| {
                stored_once(&records)?;
                checkers.kept(id.partition, &log)?;
                checkers.replicas.compare(found)
            };
            world.check(judge);
        }
    }
}

/// Fails if a value is in a log twice: producers repeat only what the brokers recognize.
fn stored_once(records: &[(i64, u64)]) -> Result<(), Violation> {
    let mut offsets = BTreeMap::new();
    for (offset, value) in records {
        if let Some(before) = offsets.insert(value, offset) {
            let facts = format!("{value} is at {before} and at {offset}");
            return Err(Violation::new("a record is stored once", facts));
        }
    }
    Ok(())
}
