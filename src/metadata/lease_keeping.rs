//! Keeping the lease of this broker for its lifetime, through all sessions.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::metadata::{Incarnation, Lease, Metadata};

/// The number of times per session time-out that the store is asked for a confirmation.
const QUESTIONS: u32 = 10;

impl Metadata {
    /// The lease of a registration of this broker; an ended lease unless the registration is
    /// current.
    pub fn lease(&self, incarnation: Incarnation) -> Arc<Lease> {
        let member = self.member().filter(|own| own.membership.incarnation == incarnation);
        member.map_or_else(
            || Arc::new(Lease::ended(Arc::clone(&self.clock))),
            |own| Arc::clone(&own.lease),
        )
    }

    /// Returns true if this broker has a lease.
    pub fn has_lease(&self) -> bool {
        self.member().is_some_and(|member| member.lease.is_held())
    }

    /// Keeps the lease for the lifetime of the broker. Calls `on_end` repeatedly while the lease
    /// has run out, since the proof for a partition may end at any time. Returns only if the store
    /// is part of this process, so that the lease never ends.
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
                // `watch_lease` logs a warning once the lease has run out.
                tracing::debug!(%error, "the lease is not renewed");
            }
            sleep(self.pause()).await;
        }
    }

    async fn watch_lease(&self, on_end: impl Fn()) {
        let mut was_held = true;
        loop {
            let is_held = self.has_lease();
            if was_held && !is_held {
                tracing::warn!(
                    "the metadata store has not confirmed the registration of this broker in \
                     time: of partitions with several replicas, it serves those whose in-sync \
                     replicas all fetch from it; elections, changes of in-sync replicas, and \
                     changes of topics and settings wait for the metadata store"
                );
            } else if is_held && !was_held {
                tracing::info!("the metadata store has confirmed the registration of this broker");
            }
            if !is_held {
                on_end();
            }
            was_held = is_held;
            sleep(self.pause()).await;
        }
    }

    fn pause(&self) -> Duration {
        self.store().session_timeout().unwrap_or_default() / QUESTIONS
    }
}
