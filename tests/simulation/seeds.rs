//! Runs of many seeds, on all cores: each thread has a world of its own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::checkers::Violation;
use crate::events::Events;
use crate::machine::locked;
use crate::scenario::{Report, run};
use crate::zoo::Planted;

/// The number of seeds that are tried if the known one finds nothing: a change of the shipped code
/// may have changed what it does.
const OTHERS: u64 = 600;

/// The results of many seeds.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The events of all of them.
    pub(crate) events: Events,
    /// The least number of faults of a seed that broke none.
    pub(crate) faults_min: Option<u64>,
    /// The least simulated time of such a seed.
    pub(crate) time_min: Option<Duration>,
    /// The seeds that broke an invariant.
    pub(crate) broken: BTreeMap<u64, Violation>,
}

/// Runs seeds in order, until one breaks an invariant or, if `all`, to their end.
pub(crate) fn run_all(seeds: Range<u64>, planted: Planted, all: bool) -> Results {
    let (next, results) = (AtomicU64::new(seeds.start), Mutex::new(Results::default()));
    let work = || {
        while all || locked(&results).broken.is_empty() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let Report { events, violation, time } =
                catch_unwind(|| run(seed, planted)).unwrap_or_else(|_| Report::panicked());
            let mut results = locked(&results);
            if violation.is_none() {
                results.faults_min = least(results.faults_min, events.faults());
                results.time_min = least(results.time_min, time);
            }
            results.events.add(&events);
            results.broken.extend(violation.map(|violation| (seed, violation)));
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    results.into_inner().unwrap()
}

fn least<T: Ord>(known: Option<T>, new: T) -> Option<T> {
    known.into_iter().chain([new]).min()
}

/// What breaks in `seed`, or else in one of some hundreds; fails if nothing does.
pub(crate) fn assert_found(name: &str, planted: Planted, seed: u64) -> String {
    let first = |seeds| run_all(seeds, planted, false).broken.pop_first();
    let found = first(seed..seed + 1).or_else(|| first(0..OTHERS));
    let Some((finder, violation)) = found else { panic!("{name}: no seed finds damage") };
    format!("{name}: seed {finder}: {}: {}", violation.invariant, violation.facts)
}

/// Tells how many of the first seeds find what is planted, and how far they are from each other.
pub(crate) fn finders(name: &str, planted: Planted, seeds: u64) -> String {
    let broken = run_all(0..seeds, planted, true).broken;
    let ends = broken.keys().map(|seed| seed + 1);
    let starts = [0].into_iter().chain(ends.clone());
    let mut gaps: Vec<u64> = ends.zip(starts).map(|(end, start)| end - start).collect();
    gaps.sort_unstable();
    let (count, median) = (gaps.len(), gaps.get(gaps.len() / 2));
    let first = broken.first_key_value().map(|(seed, found)| (seed, found.invariant));
    format!("{name}: {count} of {seeds} seeds, median {median:?} until found, first {first:?}")
}
