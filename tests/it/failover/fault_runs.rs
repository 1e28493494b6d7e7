//! Runs of faults, chosen by a seed, against three brokers under load.
//!
//! A fault is followed by the next once it has demonstrably taken effect, was ended, and all
//! replicas are in sync again. `STREAMLOG_SEEDS` is the number of runs, `STREAMLOG_FAULTS` that of
//! the faults of a run; `STREAMLOG_SEED` repeats one run.

use std::env;
use std::time::Instant;

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, ThreeBrokers, others};
use super::watcher::Watcher;
use crate::support::{Random, seeds};

const TOPIC: &str = "faults";
const PARTITIONS: i32 = 3;
/// The faults of a run.
const FAULTS: usize = 3;
/// The records that are acknowledged between two faults.
const RECORDS: usize = 500;

/// A fault of a broker, of its way to ZooKeeper, or of all.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The process is killed.
    Killed,
    /// All processes are killed at once.
    AllKilled,
    /// The process is stopped in order.
    Stopped,
    /// The process stands still until its session has ended.
    Paused,
    /// The process is killed, and returns without its data.
    DiskEmptied,
    /// The connections to ZooKeeper are closed until the session has ended.
    CutFromZooKeeper,
    /// ZooKeeper's answers are lost until the session has ended.
    AnswersLost,
    /// ZooKeeper's answers to all brokers are lost until no leader has a lease, and leaders go on.
    AllAnswersLost,
    /// ZooKeeper is killed, and returns once no leader has a lease, and leaders go on.
    ZooKeeperKilled,
}

const ALL: [Fault; 9] = [
    Fault::Killed,
    Fault::AllKilled,
    Fault::Stopped,
    Fault::Paused,
    Fault::DiskEmptied,
    Fault::CutFromZooKeeper,
    Fault::AnswersLost,
    Fault::AllAnswersLost,
    Fault::ZooKeeperKilled,
];

impl Fault {
    /// Brings the fault about at a broker, waits for its effect, and ends it.
    fn happen(self, broker: i32, cluster: &mut ThreeBrokers, load: &Load) {
        match self {
            Self::Killed => {
                cluster.kill(broker);
                await_without(cluster, broker, load);
                cluster.start_broker(broker);
            }
            Self::AllKilled => {
                for id in IDS {
                    cluster.kill(id);
                }
                load.await_standstill();
                for id in IDS {
                    cluster.start_broker(id);
                }
            }
            Self::Stopped => {
                cluster.stop(broker);
                await_without(cluster, broker, load);
                cluster.start_broker(broker);
            }
            Self::Paused => {
                let paused = cluster.broker(broker).pause();
                await_without(cluster, broker, load);
                drop(paused);
            }
            Self::DiskEmptied => {
                cluster.kill(broker);
                await_without(cluster, broker, load);
                cluster.empty_disk(broker);
                cluster.start_broker(broker);
            }
            Self::CutFromZooKeeper => {
                cluster.way(broker).cut();
                await_without(cluster, broker, load);
                cluster.way(broker).restore();
            }
            Self::AnswersLost => {
                cluster.way(broker).lose_answers();
                await_without(cluster, broker, load);
                cluster.way(broker).restore();
            }
            Self::AllAnswersLost => {
                cluster.lose_leases(|cluster| IDS.map(|id| cluster.way(id).lose_answers()));
                load.await_more(RECORDS);
                for id in IDS {
                    cluster.way(id).restore();
                }
            }
            Self::ZooKeeperKilled => {
                cluster.lose_leases(|cluster| cluster.zookeeper().kill());
                load.await_more(RECORDS);
                cluster.zookeeper().restart();
            }
        }
    }
}

/// Waits until a broker neither leads nor is in sync, in the eyes of another, and records are
/// acknowledged without it.
fn await_without(cluster: &ThreeBrokers, broker: i32, load: &Load) {
    cluster.await_seen_by(others(broker)[0], TOPIC, |partition| {
        partition.leader_id >= 0
            && partition.leader_id != broker
            && !partition.isr_nodes.contains(&broker)
    });
    load.await_more(RECORDS);
}

/// Waits until all replicas are in sync, in the eyes of every broker.
fn await_healed(cluster: &ThreeBrokers) {
    for id in IDS {
        cluster.await_registered(id, &IDS);
        cluster.await_seen_by(id, TOPIC, |partition| {
            partition.leader_id >= 0 && partition.isr_nodes.len() == IDS.len()
        });
    }
}

/// One run; prints its faults and what was counted.
fn run(seed: u64, faults: usize) {
    let mut random = Random::new(seed);
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, PARTITIONS);
    let load = Load::start(cluster.client(), TOPIC);
    let watcher = Watcher::start([cluster.client(), cluster.client()], TOPIC);
    load.await_more(RECORDS);
    let mut happened = Vec::new();
    for _ in 0..faults {
        let [fault, broker] = [ALL.len(), IDS.len()].map(|bound| below(&mut random, bound));
        let (fault, broker, began) = (ALL[fault], IDS[broker], Instant::now());
        eprintln!("seed {seed}: {fault:?}, broker {broker}");
        fault.happen(broker, &mut cluster, &load);
        await_healed(&cluster);
        load.await_more(RECORDS);
        happened.push(format!("{fault:?} {broker} ({:.1} s)", began.elapsed().as_secs_f32()));
    }
    let acknowledged = load.stop();
    let (shown, asked) = watcher.stop();
    assert!(!shown.is_empty() && asked > 0, "nobody has watched");
    let read = read_all(&cluster.client(), TOPIC);
    assert_kept(&acknowledged, &read);
    for (place, number) in &shown {
        assert_eq!(read.get(place), Some(number), "{place:?} was shown, and is withdrawn");
    }
    await_healed(&cluster);
    cluster.assert_identical_logs(TOPIC, PARTITIONS);
    eprintln!(
        "| {seed} | {} | {} | {} | {asked} |",
        happened.join(", "),
        acknowledged.len(),
        shown.len(),
    );
}

fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap()
}

#[test]
fn faults_lose_no_acknowledged_record_and_withdraw_none_that_was_shown() {
    let faults = env::var("STREAMLOG_FAULTS").map_or(FAULTS, |text| text.parse().unwrap());
    eprintln!("| seed | faults | acknowledged | shown | ends told |");
    eprintln!("|---|---|---|---|---|");
    for seed in seeds(1) {
        run(seed, faults);
    }
}
