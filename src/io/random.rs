//! Reproducible pseudo-random numbers from a seed.
//!
//! A simulation prints its seed, from which the run can be repeated: the sequence of a seed never
//! changes. Not for secrets, nor for input chosen by an attacker.

/// A generator of numbers (`SplitMix64`: a counter in large steps, its bits mixed).
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, from the whole range.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but not including `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let scaled = (u128::from(self.number()) * u128::from(end)) >> 64;
        // A product of two 64-bit numbers, shifted by 64, has 64 bits.
        u64::try_from(scaled).unwrap_or(0)
    }

    /// A number between two bounds, both included; either may be the greater.
    pub fn between(&mut self, one: u64, other: u64) -> u64 {
        let low = one.min(other);
        match one.abs_diff(other).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.number(),
        }
    }

    /// An index into a sequence of `length` items; 0 if it is empty.
    #[cfg(any(test, feature = "broker", feature = "internals"))]
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True once in `one_in` calls on average; never if `one_in` is 0.
    #[cfg(any(test, feature = "broker", feature = "internals"))]
    pub fn chance(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.below(one_in) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_one_sequence() {
        let mut random = SeededRandom::new(1_234_567);
        let numbers = [random.number(), random.number(), random.number()];
        // The published first values of this generator for this seed.
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = SeededRandom::new(7);
        let seen: std::collections::BTreeSet<u64> =
            (0..1000).map(|_| random.between(7, 3)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
        assert!(!random.chance(0));
        assert!(random.chance(1));
        let hits = (0..10_000).filter(|_| random.chance(10)).count();
        assert!((800..1200).contains(&hits), "{hits} of 10,000");
    }
}
