//! Seeds of randomised tests: a failing one is printed, and can be run alone.

/// A small generator (SplitMix64): the same seed gives the same numbers everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// A generator that begins at `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }
}

/// `count` seeds or, to repeat a failure, only the one in `STREAMLOG_SEED`. `STREAMLOG_SEEDS`
/// overrides the number.
pub(crate) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let asked = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    match asked("STREAMLOG_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..asked("STREAMLOG_SEEDS").unwrap_or(count),
    }
}
