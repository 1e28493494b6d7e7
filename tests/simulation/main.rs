//! Three brokers of shipped code in one thread, on one virtual clock, under faults that follow from
//! a seed.
//!
//! `STREAMLOG_SEED=n` runs that seed alone, `STREAMLOG_SEEDS=n` that many from
//! `STREAMLOG_FIRST_SEED`, or from 0. `STREAMLOG_SAME_SEEDS=n` runs the first n twice and compares
//! their events. With `STREAMLOG_TELL=1` a run prints its events.
//! `docs/decisions/0023-simulation.md` tells what is shipped code here and what is not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ablation;
mod broker;
mod checkers;
mod clock;
mod disks;
mod ensemble;
mod events;
mod faults;
mod gate;
mod load;
mod machine;
mod network;
mod scenario;
mod seeds;
mod world;
mod zoo;

use std::str::FromStr;

use events::REQUIRED;
use scenario::run;
use seeds::{Results, run_all};
use zoo::Planted;

/// The number of seeds of a usual run.
const SEEDS: u64 = 750;

/// The number of seeds that a usual run runs twice.
const SAME_SEEDS: u64 = 6;

#[test]
fn no_seed_breaks_an_invariant_and_all_together_meet_every_event() {
    let one = variable("STREAMLOG_SEED");
    let count = variable("STREAMLOG_SEEDS").unwrap_or(SEEDS);
    let first = one.or_else(|| variable("STREAMLOG_FIRST_SEED")).unwrap_or(0);
    let seeds = first..first + one.map_or(count, |_| 1);
    let Results { events, faults_min, time_min, broken } = run_all(seeds, Planted::NOTHING, false);
    println!("{events:#?}\nin {count} seeds");
    println!("each at least {time_min:?} of simulated time and {faults_min:?} faults");
    if let Some((seed, violation)) = broken.first_key_value() {
        panic!("STREAMLOG_SEED={seed} breaks an invariant: {violation:?}");
    }
    if one.is_none() && count >= SEEDS {
        let absent: Vec<_> = REQUIRED.iter().filter(|name| events.count(name) == 0).collect();
        assert_eq!(absent, Vec::<&&str>::new(), "events that no seed met");
    }
}

#[test]
fn a_seed_gives_the_same_events_each_time() {
    for seed in 0..variable("STREAMLOG_SAME_SEEDS").unwrap_or(SAME_SEEDS) {
        let (one, other) = (run(seed, Planted::NOTHING).events, run(seed, Planted::NOTHING).events);
        assert_eq!(one, other, "STREAMLOG_SEED={seed}");
    }
}

/// The number in an environment variable, if it is set.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(u64::from_str(&text).unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}
