//! The failure that ends an engine: of its disk or its metadata, or a broken invariant.

use std::sync::OnceLock;

use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

/// The reason why an engine stopped by itself.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    reason: OnceLock<String>,
    /// Cancelled when the engine stops, for any reason.
    pub(crate) stopping: CancellationToken,
}

impl Failure {
    /// Stops the engine, whose state can no longer be trusted. Only the first reason is kept.
    pub(crate) fn report(&self, reason: String) {
        // Failures that follow from the first would hide it in the log.
        if self.reason.set(reason).is_ok() {
            let reason = self.reason.get().map_or("", String::as_str);
            tracing::error!("the broker stops: {reason}");
        }
        self.stopping.cancel();
    }

    /// Stops the engine as if it had failed, because its process is taken to have ended.
    #[cfg(feature = "broker")]
    pub(crate) fn abandon(&self, reason: &str) {
        tracing::info!("the broker ends: {reason}");
        // Fails only if it has failed already.
        let _ = self.reason.set(reason.to_owned());
        self.stopping.cancel();
    }

    /// Stops the engine if a task has panicked: an invariant is broken, perhaps other invariants
    /// with it. The panic ends only its task, so nothing else would stop the engine.
    pub(crate) fn notice(&self, ended: &JoinError) {
        if ended.is_panic() {
            self.report(ended.to_string());
        }
    }

    /// Stops the engine because a thread that it needs has panicked.
    pub(crate) fn notice_thread(&self, name: &str) {
        self.report(format!("the thread '{name}' has panicked"));
    }

    /// Stops the engine because a task of `group` has panicked.
    pub(crate) fn notice_task(&self, group: &str) {
        self.report(format!("a task of {group} has panicked"));
    }

    /// The reason of the failure, if there was one.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.get().cloned()
    }
}
