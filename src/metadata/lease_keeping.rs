//! Keeping the lease of this broker for its lifetime, through all sessions.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::metadata::{Incarnation, Lease, Metadata};

/// The parts of the session's time-out at which the store is asked.
const QUESTIONS: u32 = 10;

impl Metadata {
    /// The lease of a registration of this broker; an ended one unless it is the current one.
    pub fn lease(&self, incarnation: Incarnation) -> Arc<Lease> {
        let member = self.member().filter(|own| own.membership.incarnation == incarnation);
        member.map_or_else(
            || Arc::new(Lease::ended(Arc::clone(&self.clock))),
            |own| Arc::clone(&own.lease),
        )
    }

    /// Keeps the lease for the lifetime of the broker, and calls `on_end` each time after it has
    /// run out. Returns only if the store is part of this process, so that the lease never ends.
    pub async fn keep_lease(&self, on_end: impl Fn()) {
        if self.store().session_timeout().is_some() {
            tokio::join!(self.renew_lease(), self.watch_lease(on_end));
        }
    }

    async fn renew_lease(&self) {
        loop {
            if let Some(member) = self.member()
                && let Err(error) = member.renew_lease().await
            {
                // Once the lease has run out, it is logged where that is noticed.
                tracing::debug!(%error, "the lease is not renewed");
            }
            sleep(self.pause()).await;
        }
    }

    async fn watch_lease(&self, on_end: impl Fn()) {
        let mut was_held = true;
        loop {
            let is_held = self.member().is_some_and(|member| member.lease.is_held());
            if was_held && !is_held {
                tracing::warn!(
                    "the metadata store has not confirmed the registration of this broker in \
                     time: requests to partitions with several replicas are refused until it does"
                );
                on_end();
            } else if is_held && !was_held {
                tracing::info!("the metadata store has confirmed the registration of this broker");
            }
            was_held = is_held;
            sleep(self.pause()).await;
        }
    }

    fn pause(&self) -> Duration {
        self.store().session_timeout().unwrap_or_default() / QUESTIONS
    }
}
