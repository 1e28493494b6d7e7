//! How models run: seed after seed, each the life of one world.
//!
//! `STREAMLOG_SEED=n` runs that seed alone, `STREAMLOG_SEEDS=n` that many instead of the usual
//! number.

use std::str::FromStr;

/// Runs the life of every seed, on two cores; the first that fails is named.
pub(super) fn each_seed(usual: u64, life: impl Fn(u64) + Sync) {
    if let Some(seed) = number("STREAMLOG_SEED") {
        life(seed);
        return;
    }
    let seeds = number("STREAMLOG_SEEDS").unwrap_or(usual);
    let life = &life;
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for seed in (part..seeds).step_by(2) {
                    let _named = Named(seed);
                    life(seed);
                }
            });
        }
    });
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(u64::from_str(&text).unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// Names the seed when its life ends in a panic.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with STREAMLOG_SEED={}", self.0);
        }
    }
}
