//! Three brokers of shipped code in one thread, on one virtual clock, under faults that follow from
//! a seed.
//!
//! `STREAMLOG_SEED=n` runs that seed alone, `STREAMLOG_SEEDS=n` that many from 0. With
//! `STREAMLOG_TELL=1` a run prints its events. `docs/decisions/0023-simulation.md` tells what is
//! shipped code here and what is not.
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
mod world;

use std::str::FromStr;

use streamlog::replication::Rules;

use events::{Events, REQUIRED};
use scenario::{Report, run};

/// The number of seeds of a usual run.
const SEEDS: u64 = 300;

#[test]
fn no_seed_breaks_an_invariant_and_all_together_meet_every_event() {
    let one = variable("STREAMLOG_SEED");
    let count = variable("STREAMLOG_SEEDS").unwrap_or(SEEDS);
    let seeds = one.map_or(0..count, |seed| seed..seed + 1);
    let mut total = Events::default();
    for seed in seeds {
        let Report { events, violation } = run(seed, Rules::ALL);
        assert_eq!(violation, None, "STREAMLOG_SEED={seed}");
        total.add(&events);
    }
    println!("{total:#?}");
    if one.is_none() && count >= SEEDS {
        let absent: Vec<_> = REQUIRED.iter().filter(|name| total.count(name) == 0).collect();
        assert_eq!(absent, Vec::<&&str>::new(), "events that no seed met");
    }
}

#[test]
fn a_seed_gives_the_same_events_each_time() {
    for seed in 0..2 {
        let (one, other) = (run(seed, Rules::ALL).events, run(seed, Rules::ALL).events);
        assert_eq!(one, other, "STREAMLOG_SEED={seed}");
    }
}

/// The number in an environment variable, if it is set.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(u64::from_str(&text).unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}
