//! The producers and consumers of a client, which are closed before the client's thread ends.

use std::sync::{Arc, Mutex, PoisonError};

use crate::client::ClientError;
use crate::client::consumer::{Consumer, WeakConsumer};
use crate::client::core::Core;
use crate::client::producer::{Producer, WeakProducer};

/// The producers and consumers that were made of a client and still exist.
#[derive(Debug, Default)]
pub(super) struct Made {
    lists: Mutex<Lists>,
}

#[derive(Clone, Debug, Default)]
struct Lists {
    producers: Vec<WeakProducer>,
    consumers: Vec<WeakConsumer>,
}

impl Made {
    /// Registers a producer.
    pub(super) fn add_producer(&self, producer: &Producer) {
        self.change(|lists| {
            lists.producers.retain(WeakProducer::exists);
            lists.producers.push(producer.downgrade());
        });
    }

    /// Registers a consumer.
    pub(super) fn add_consumer(&self, consumer: &Consumer) {
        self.change(|lists| {
            lists.consumers.retain(WeakConsumer::exists);
            lists.consumers.push(consumer.downgrade());
        });
    }

    /// Closes all of them. The producers come first: the offsets that consumers commit at their end
    /// may be those of messages whose results are still to be delivered.
    ///
    /// # Errors
    /// The failures of all producers together, or the first other error.
    pub(super) fn close(&self, core: &Arc<Core>) -> Result<(), ClientError> {
        let Lists { producers, consumers } = self.lists();
        let mut delivered = Ok(());
        for producer in producers {
            let closed = producer.close(core);
            let is_interrupted = matches!(closed, Err(ClientError::Interrupted));
            delivered = joined(delivered, closed);
            if is_interrupted {
                break;
            }
        }
        for consumer in consumers {
            consumer.close(core);
        }
        delivered
    }

    /// [`close`](Self::close) as a future.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub(super) async fn closing(&self, core: &Arc<Core>) -> Result<(), ClientError> {
        let Lists { producers, consumers } = self.lists();
        let mut delivered = Ok(());
        for producer in producers {
            delivered = joined(delivered, producer.closing(core).await);
        }
        for consumer in consumers {
            consumer.closing(core).await;
        }
        delivered
    }

    fn lists(&self) -> Lists {
        self.change(|lists| lists.clone())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Lists) -> T) -> T {
        change(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The failures of both; other errors precede failures that come later.
fn joined(
    first: Result<(), ClientError>,
    then: Result<(), ClientError>,
) -> Result<(), ClientError> {
    match (first, then) {
        (
            Err(ClientError::Delivery { mut failures, unlisted }),
            Err(ClientError::Delivery { failures: more, unlisted: further }),
        ) => {
            failures.extend(more);
            Err(ClientError::Delivery { failures, unlisted: unlisted.saturating_add(further) })
        }
        (first, then) => first.and(then),
    }
}
