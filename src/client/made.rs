//! The producers and consumers of a client, which are closed before the client's thread ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    /// True once closing has begun: nothing is registered any more.
    is_closed: bool,
}

impl Made {
    /// Registers a producer.
    ///
    /// # Errors
    /// [`ClientError::Closed`] if another thread has begun to close the client, which does not
    /// close this producer.
    pub(super) fn add_producer(&self, producer: &Producer) -> Result<(), ClientError> {
        self.register(|lists| {
            lists.producers.retain(WeakProducer::exists);
            lists.producers.push(producer.downgrade());
        })
    }

    /// Registers a consumer.
    ///
    /// # Errors
    /// As [`add_producer`](Self::add_producer).
    pub(super) fn add_consumer(&self, consumer: &Consumer) -> Result<(), ClientError> {
        self.register(|lists| {
            lists.consumers.retain(WeakConsumer::exists);
            lists.consumers.push(consumer.downgrade());
        })
    }

    /// Closes all of them; the producers give up what is undelivered after `timeout`. The producers
    /// come first: the offsets that consumers commit at their end may be those of messages whose
    /// results are still to be delivered.
    ///
    /// # Errors
    /// The failures of all producers together, or the first other error.
    pub(super) fn close(
        &self,
        core: &Arc<Core>,
        timeout: Option<Duration>,
    ) -> Result<(), ClientError> {
        let Lists { producers, consumers, .. } = self.close_lists();
        let clock = core.brokers.clock();
        let deadline = timeout.map(|timeout| clock.monotonic().saturating_add(timeout));
        let mut delivered = Ok(());
        for producer in producers {
            let left = deadline.map(|deadline| deadline.saturating_sub(clock.monotonic()));
            let closed = producer.close(core, left);
            let is_interrupted = matches!(closed, Err(ClientError::Interrupted));
            delivered = joined(delivered, closed);
            if is_interrupted {
                break;
            }
        }
        let consumers: Vec<_> = consumers.into_iter().map(|it| (it, &**core)).collect();
        joined(delivered, WeakConsumer::close_all(&consumers))
    }

    /// [`close`](Self::close) as a future.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub(super) async fn closing(&self, core: &Arc<Core>) -> Result<(), ClientError> {
        let Lists { producers, consumers, .. } = self.close_lists();
        let mut delivered = Ok(());
        for producer in producers {
            delivered = joined(delivered, producer.closing(core).await);
        }
        WeakConsumer::closing_all(consumers, core).await;
        delivered
    }

    /// The objects to be closed; none is registered after this.
    fn close_lists(&self) -> Lists {
        self.change(|lists| {
            lists.is_closed = true;
            lists.clone()
        })
    }

    fn register(&self, add: impl FnOnce(&mut Lists)) -> Result<(), ClientError> {
        self.change(|lists| {
            if lists.is_closed {
                return Err(ClientError::Closed);
            }
            add(lists);
            Ok(())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Lists) -> T) -> T {
        change(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The failures of both, or the records that both gave up; other errors precede what comes later.
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
        (
            Err(ClientError::Timeout { operation, elapsed, last_error: Some(first) }),
            Err(ClientError::Timeout { last_error: Some(then), .. }),
        ) => {
            let last_error = joined(Err(*first), Err(*then)).err().map(Box::new);
            Err(ClientError::Timeout { operation, elapsed, last_error })
        }
        (first, then) => first.and(then),
    }
}

#[cfg(test)]
mod tests {
    use crate::client::{
        Client, ClientConfig, ClientError, ConsumerConfig, ProducerConfig, ProducerRecord,
    };

    /// A thread may make an object after another one has begun to close the client, and before the
    /// client's tasks are stopped.
    #[test]
    fn nothing_is_made_of_a_client_that_is_being_closed() {
        let client = Client::start(ClientConfig::default()).unwrap();
        let producer = client.producer(ProducerConfig::default()).unwrap();
        let consumer = client.partition_consumer(&[], ConsumerConfig::default()).unwrap();
        client.made.close(&client.core, None).unwrap();
        assert!(producer.size_of(&ProducerRecord::default()).is_err() && consumer.is_closed());
        let late = client.producer(ProducerConfig::default());
        assert!(matches!(late, Err(ClientError::Closed)), "{late:?}");
        let late = client.partition_consumer(&[], ConsumerConfig::default());
        assert!(matches!(late, Err(ClientError::Closed)), "{late:?}");
    }
}
