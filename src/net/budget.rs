//! A bound on memory that many connections share.

use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Bytes are reserved in units, so that a semaphore's count spans any budget.
const UNIT: usize = 1024;

/// Bytes that may be held at once by all who share it. Who asks first is served first, so a large
/// frame cannot be starved by small ones.
#[derive(Clone, Debug)]
pub struct Budget {
    units: Arc<Semaphore>,
    total: usize,
}

/// A share of a budget, given back when dropped.
#[derive(Debug)]
pub struct Reserved {
    _permit: OwnedSemaphorePermit,
}

impl Budget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Self {
        let total = bytes.div_ceil(UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(total)), total }
    }

    /// Waits until `bytes` are free and takes them. More than the whole budget is cut to the whole:
    /// such a holder is then the only one.
    ///
    /// # Errors
    /// Never while the budget lives: it is not closed.
    pub async fn reserve(&self, bytes: usize) -> Result<Reserved, AcquireError> {
        let units = bytes.div_ceil(UNIT).min(self.total);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.units).acquire_many_owned(units).await?;
        Ok(Reserved { _permit: permit })
    }

    /// Takes `bytes` if they are free now.
    pub fn try_reserve(&self, bytes: usize) -> Option<Reserved> {
        let units = u32::try_from(bytes.div_ceil(UNIT).min(self.total)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.units).try_acquire_many_owned(units).ok()?;
        Some(Reserved { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_comes_back() {
        let budget = Budget::new(10 * UNIT);
        let held = budget.try_reserve(9 * UNIT).unwrap();
        assert!(budget.try_reserve(2 * UNIT).is_none());
        drop(held);
        assert!(budget.try_reserve(100 * UNIT).is_some(), "the whole budget serves one giant");
    }
}
