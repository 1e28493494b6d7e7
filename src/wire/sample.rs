//! Random values for tests, for every field that exists in a version.

use bytes::Bytes;

use super::{ApiKey, ErrorCode, Layout, Marked, Records};
use crate::types::TopicId;

/// A generator of values from a seed, for messages in one layout.
pub(crate) struct Samples {
    state: u64,
    layout: Layout,
}

/// A type whose values can be generated.
pub(crate) trait Sample {
    fn sample(samples: &mut Samples) -> Self;
}

impl Samples {
    pub(crate) fn new(seed: u64, layout: Layout) -> Self {
        Self { state: seed, layout }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The next number of the splitmix sequence.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }
}

macro_rules! number {
    ($($number:ident),*) => {$(
        impl Sample for $number {
            fn sample(samples: &mut Samples) -> Self {
                match samples.below(8) {
                    0 => $number::MIN,
                    1 => $number::MAX,
                    _ => {
                        let bits = samples.next().to_be_bytes();
                        $number::from_be_bytes(*bits.first_chunk().unwrap())
                    }
                }
            }
        }
    )*};
}

number!(i8, i16, i32, i64);

impl Sample for bool {
    fn sample(samples: &mut Samples) -> Self {
        samples.below(2) == 1
    }
}

impl Sample for ErrorCode {
    fn sample(samples: &mut Samples) -> Self {
        Self::from(i16::sample(samples))
    }
}

impl Sample for ApiKey {
    fn sample(samples: &mut Samples) -> Self {
        let nth = samples.below(u64::try_from(Self::ALL.len()).unwrap());
        *Self::ALL.get(usize::try_from(nth).unwrap()).unwrap()
    }
}

impl Sample for TopicId {
    fn sample(samples: &mut Samples) -> Self {
        Self((u128::from(samples.next()) << 64 | u128::from(samples.next())).to_be_bytes())
    }
}

impl Sample for String {
    fn sample(samples: &mut Samples) -> Self {
        let length = if samples.below(16) == 0 { 200 } else { samples.below(6) };
        (0..length).map(|_| if samples.below(9) == 0 { 'é' } else { 'k' }).collect()
    }
}

impl Sample for Bytes {
    fn sample(samples: &mut Samples) -> Self {
        (0..samples.below(40)).map(|_| samples.next().to_be_bytes()[0]).collect()
    }
}

impl<T: Sample> Sample for Marked<T> {
    fn sample(samples: &mut Samples) -> Self {
        Self(T::sample(samples))
    }
}

impl Sample for Records {
    fn sample(samples: &mut Samples) -> Self {
        Option::sample(samples).map_or(Self::Null, Self::Bytes)
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(samples: &mut Samples) -> Self {
        (0..samples.below(4)).map(|_| T::sample(samples)).collect()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(samples: &mut Samples) -> Self {
        (samples.below(4) > 0).then(|| T::sample(samples))
    }
}
