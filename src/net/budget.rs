//! A memory budget shared by many connections.
//!
//! Memory is charged as bytes arrive, not when a length is announced, so a peer that announces much
//! and sends nothing takes nothing from other peers. Partly received frames could together exhaust
//! the budget and wait for each other for ever. To prevent this deadlock, a reserve as large as the
//! largest frame is set aside. A frame that finds the budget used up waits for memory or for the
//! reserve, which belongs to one frame at a time until that frame is complete. A frame that holds
//! the reserve needs nothing more.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are charged in units, so that the count of a semaphore can express any budget.
const UNIT: usize = 1024;

/// The number of bytes that all connections together may hold. Requests are served in order.
#[derive(Clone, Debug)]
pub struct Budget {
    units: Arc<Semaphore>,
    /// The reserve, for one frame at a time.
    last_part: Arc<Semaphore>,
}

/// The part of a budget that a frame holds; released on drop.
#[derive(Debug)]
pub struct Reserved {
    budget: Budget,
    held: Option<OwnedSemaphorePermit>,
    last_part: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// Creates a budget of `bytes` for frames of up to `frame_max` bytes each, which must fit.
    pub fn new(bytes: usize, frame_max: usize) -> Self {
        let units = (bytes.saturating_sub(frame_max) / UNIT).min(Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(units)), last_part: Arc::new(Semaphore::new(1)) }
    }

    /// Opens an account with nothing charged to it.
    pub fn open(&self) -> Reserved {
        Reserved { budget: self.clone(), held: None, last_part: None }
    }
}

impl Reserved {
    /// Waits until a total of `bytes` is charged to this account.
    pub async fn grow_to(&mut self, bytes: usize) {
        let more = self.lacking(bytes.div_ceil(UNIT));
        if more == 0 || self.last_part.is_some() {
            return;
        }
        let units = Arc::clone(&self.budget.units);
        let last_part = Arc::clone(&self.budget.last_part);
        // Neither semaphore is ever closed, so neither wait can fail. `biased` prefers free memory:
        // the reserve is for frames that would wait for each other without it.
        tokio::select! {
            biased;
            Ok(more) = units.acquire_many_owned(more) => self.add(more),
            Ok(part) = last_part.acquire_owned() => self.last_part = Some(part),
            else => unreachable!("a budget was closed"),
        }
    }

    /// Releases the charge beyond `bytes`. Also releases the reserve if the rest of the budget has
    /// room for `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let needed = bytes.div_ceil(UNIT);
        if let Some(held) = &mut self.held {
            drop(held.split(held.num_permits().saturating_sub(needed)));
        }
        if self.last_part.is_some() && self.try_grow_to(bytes) {
            self.last_part = None;
        }
    }

    /// Charges a total of `bytes` to this account if that needs neither waiting nor the reserve.
    pub fn try_grow_to(&mut self, bytes: usize) -> bool {
        let more = self.lacking(bytes.div_ceil(UNIT));
        let taken = Arc::clone(&self.budget.units).try_acquire_many_owned(more);
        taken.map(|more| self.add(more)).is_ok()
    }

    /// The number of units still to be charged to reach `units`.
    fn lacking(&self, units: usize) -> u32 {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        u32::try_from(units.saturating_sub(held)).unwrap_or(u32::MAX)
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Returns true if the account can grow without waiting; otherwise leaves the queue again.
    fn grows(account: &mut Reserved, bytes: usize) -> bool {
        let growing = pin!(account.grow_to(bytes));
        growing.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn a_budget_is_never_exceeded_and_comes_back() {
        let budget = Budget::new(30 * UNIT, 10 * UNIT);
        let (mut one, mut two, mut three) = (budget.open(), budget.open(), budget.open());
        assert!(grows(&mut one, 15 * UNIT));
        assert!(grows(&mut two, 6 * UNIT), "the reserve serves one frame");
        assert!(grows(&mut two, 10 * UNIT), "as far as a frame may grow");
        assert!(grows(&mut three, 5 * UNIT));
        assert!(!grows(&mut three, 6 * UNIT));
        drop(two);
        assert!(grows(&mut three, 6 * UNIT));
        drop((one, three));
        assert!(grows(&mut budget.open(), 20 * UNIT));
    }

    #[test]
    fn what_is_given_back_is_there_for_others() {
        let budget = Budget::new(30 * UNIT, 10 * UNIT);
        let (mut one, mut two) = (budget.open(), budget.open());
        one.shrink_to(0);
        assert!(grows(&mut one, 20 * UNIT));
        one.shrink_to(5 * UNIT + 1);
        one.shrink_to(7 * UNIT);
        assert!(grows(&mut two, 14 * UNIT));
        assert!(grows(&mut one, 7 * UNIT), "the reserve serves one frame");
        assert!(!grows(&mut two, 15 * UNIT));
        one.shrink_to(6 * UNIT);
        assert!(grows(&mut two, 15 * UNIT), "the reserve is no longer needed");
    }

    #[test]
    fn half_frames_that_hold_everything_are_completed_one_after_another() {
        let budget = Budget::new(30 * UNIT, 10 * UNIT);
        let mut frames: Vec<Reserved> = (0..4).map(|_| budget.open()).collect();
        for frame in &mut frames {
            assert!(grows(frame, 5 * UNIT));
        }
        while let Some(mut frame) = frames.pop() {
            assert!(grows(&mut frame, 10 * UNIT));
            let mut others = frames.iter_mut();
            assert!(others.all(|other| !grows(other, 10 * UNIT)) || frames.len() < 3);
        }
    }

    #[test]
    fn a_budget_of_one_frame_serves_frames_one_by_one() {
        let budget = Budget::new(10 * UNIT, 10 * UNIT);
        let (mut one, mut two) = (budget.open(), budget.open());
        assert!(grows(&mut one, 10 * UNIT));
        assert!(!grows(&mut two, UNIT));
        drop(one);
        assert!(grows(&mut two, UNIT));
    }
}
