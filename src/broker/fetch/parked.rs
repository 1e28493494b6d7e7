//! Fetches that wait for records.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::reading::Fetch;
use crate::broker::access::LedPartitions;

/// Reads until there are enough bytes or an error, the time is up, or no peer waits for the
/// response any more.
pub(super) async fn read_enough(
    fetch: &mut Fetch<'_>,
    led: LedPartitions<'_>,
    cancel: &CancellationToken,
) {
    let wait = Duration::from_millis(u64::try_from(fetch.request.max_wait_ms).unwrap_or(0));
    let deadline = Instant::now() + wait;
    fetch.read(led, cancel).await;
    fetch.check_may_answer();
    if fetch.is_due() || wait.is_zero() {
        return;
    }
    let over = sleep_until(deadline);
    tokio::pin!(over);
    let (wake, ready) = (Arc::new(Notify::new()), fetch.ready());
    loop {
        // Register before reading again, so that no wakeup in between is missed. A follower's
        // session is registered all the time.
        let (_registrations, has_news) = match ready {
            None => (fetch.register(&wake), true),
            Some(_) => (Vec::new(), fetch.add_ready()),
        };
        if has_news {
            fetch.read(led, cancel).await;
            fetch.check_may_answer();
            if fetch.is_due() {
                return;
            }
        }
        let woken = async {
            match &ready {
                None => wake.notified().await,
                Some(ready) => ready.woken().await,
            }
        };
        tokio::select! {
            biased;
            () = woken => {}
            () = &mut over => return,
            () = cancel.cancelled() => return,
        }
    }
}
