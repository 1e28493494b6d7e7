//! The share of the process's descriptors that files may take.

use crate::io::open_file_limit;

/// The number of files that may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// A fixed number.
    #[cfg(any(test, feature = "internals"))]
    Fixed(usize),
    /// Half of the descriptors that the process may have; fewer if connections and the descriptors
    /// reserved for other uses need more than the other half; but always a few.
    OfProcess,
}

/// The least number of descriptors reserved for uses that neither the cache nor the broker counts:
/// directories being synced, small files, the runtime.
const SPARE_MIN: usize = 32;

/// The number of files that may always be open, however many connections there are.
const FILES_MIN: usize = 8;

impl Share {
    /// The number of files, if connections hold `others` descriptors of the same process.
    pub(super) fn files(self, others: usize) -> usize {
        match self {
            #[cfg(any(test, feature = "internals"))]
            Self::Fixed(files) => files,
            Self::OfProcess => {
                // If the limit is unknown, assume none: at worst the system refuses calls beyond
                // it.
                let limit = open_file_limit().unwrap_or(u64::MAX);
                of_limit(usize::try_from(limit).unwrap_or(usize::MAX), others)
            }
        }
    }
}

fn of_limit(limit: usize, others: usize) -> usize {
    let spare = (limit / 16).max(SPARE_MIN);
    let left = limit.saturating_sub(others).saturating_sub(spare);
    left.min(limit / 2).max(FILES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_half_and_less_when_connections_need_more() {
        let shares = |limit, others: &[usize]| -> Vec<usize> {
            others.iter().map(|others| of_limit(limit, *others)).collect()
        };
        assert_eq!(shares(1024, &[0, 400, 600, 896, 1000]), [512, 512, 360, 64, 8]);
        assert_eq!(shares(256, &[0, 100, 192]), [128, 124, 32]);
        assert_eq!(shares(1 << 20, &[0]), [1 << 19]);
    }
}
