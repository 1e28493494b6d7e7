//! The changes of in-sync sets whose outcome is unknown, until they are repeated.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The pause before changes of unknown outcome are repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Changes that may have been made, and are repeated to find out.
#[derive(Debug)]
pub(super) struct Unsettled<T> {
    changes: Vec<T>,
    /// The time at which they are repeated; `None` if there are none.
    due_at: Option<Instant>,
}

impl<T> Default for Unsettled<T> {
    fn default() -> Self {
        Self { changes: Vec::new(), due_at: None }
    }
}

impl<T> Unsettled<T> {
    /// Adds a change, to be repeated together with those that wait already.
    pub(super) fn add(&mut self, change: T) {
        self.due_at.get_or_insert_with(|| Instant::now() + PAUSE);
        self.changes.push(change);
    }

    /// Waits until changes are to be repeated. A wait that is interrupted and begun again, however
    /// often, ends at the same time.
    pub(super) async fn due(&self) {
        match self.due_at {
            Some(due_at) => sleep_until(due_at).await,
            None => pending().await,
        }
    }

    /// Takes the changes to repeat them.
    pub(super) fn take(&mut self) -> Vec<T> {
        self.due_at = None;
        std::mem::take(&mut self.changes)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_are_repeated_in_time_however_often_something_else_happens() {
        let (began, mut unsettled) = (Instant::now(), Unsettled::default());
        unsettled.add(1);
        loop {
            tokio::select! {
                () = sleep(PAUSE / 2) => {
                    assert!(began.elapsed() <= PAUSE, "the pause begins anew each time");
                    unsettled.add(2);
                }
                () = unsettled.due() => break,
            }
        }
        assert_eq!(began.elapsed(), PAUSE);
        assert_eq!(unsettled.take()[0], 1);
        tokio::select! {
            biased;
            () = unsettled.due() => panic!("nothing is to be repeated"),
            () = sleep(PAUSE * 2) => {}
        }
    }
}
