//! The seeds of randomised tests: each seed is one run of a model or of a simulation.
//!
//! `STREAMLOG_SEED=n` runs that seed alone, `STREAMLOG_SEEDS=n` that many instead of the usual
//! number. The seed of a failing run is printed.

use std::iter::StepBy;
use std::ops::Range;
use std::str::FromStr;

/// The number of threads of [`each_seed`].
const THREADS: usize = 2;

/// An iterator over seeds that prints the current one if the test panics.
#[derive(Debug)]
pub struct Seeds {
    rest: StepBy<Range<u64>>,
    taken: Option<u64>,
}

/// The seeds that the environment selects, or else `usual` of them from 0.
pub fn seeds(usual: u64) -> Seeds {
    Seeds::of(range(usual), 1)
}

/// Runs `life` on two threads for every seed that [`seeds`] yields.
pub fn each_seed(usual: u64, life: impl Fn(u64) + Sync) {
    let Range { start, end } = range(usual);
    let life = &life;
    std::thread::scope(|scope| {
        for first in (start..end).take(THREADS) {
            scope.spawn(move || Seeds::of(first..end, THREADS).for_each(life));
        }
    });
}

impl Seeds {
    fn of(range: Range<u64>, step: usize) -> Self {
        Self { rest: range.step_by(step), taken: None }
    }

    /// The number of seeds that are left.
    pub fn left(&self) -> usize {
        self.rest.size_hint().0
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.taken = self.rest.next();
        self.taken
    }
}

impl Drop for Seeds {
    fn drop(&mut self) {
        if let Some(seed) = self.taken.filter(|_| std::thread::panicking()) {
            eprintln!("failed with STREAMLOG_SEED={seed}");
        }
    }
}

fn range(usual: u64) -> Range<u64> {
    match number("STREAMLOG_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("STREAMLOG_SEEDS").unwrap_or(usual),
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(u64::from_str(&text).unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}
