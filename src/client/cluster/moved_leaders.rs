//! Answers that never come, because another broker leads by now.
//!
//! A leader that is paused, or cut off with its connections open, answers nothing, and only the
//! time limit of a request ends the wait for it. The others know much earlier who leads instead.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::brokers::Brokers;
use crate::client::ClientError;
use crate::config::HostPort;
use crate::link::LinkError;
use crate::types::{TopicName, TopicPartition};

/// The time after which an answer is late, and the pause between two questions to other brokers.
const LATE: Duration = Duration::from_secs(1);

impl Brokers {
    /// Waits for the answer of the broker at `address` about some partitions, as long as it may
    /// lead one of them. The broker may wait for `expected` before it answers; later, the others
    /// are asked once a second who leads.
    ///
    /// # Errors
    /// Those of the answer, or that other brokers lead all of the partitions.
    pub(crate) async fn answer_of_leader<T>(
        &self,
        (address, expected): (&HostPort, Duration),
        partitions: impl Fn() -> Vec<TopicPartition>,
        answer: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, ClientError> {
        let replaced = async {
            sleep(expected).await;
            let partitions = partitions();
            let topics: BTreeSet<&TopicName> = partitions.iter().map(|id| &id.topic).collect();
            let topics: Vec<TopicName> = topics.into_iter().cloned().collect();
            loop {
                sleep(LATE).await;
                self.ask_others(address, &topics).await;
                if self.is_replaced(address, &partitions) {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            answer = answer => Ok(answer?),
            () = replaced => {
                Err(ClientError::unreachable(address, "no answer, and other brokers lead by now"))
            }
        }
    }

    /// Asks another broker than that at `address` for the metadata of topics. If none answers, the
    /// cached metadata stays.
    async fn ask_others(&self, address: &HostPort, topics: &[TopicName]) {
        for other in self.candidates().iter().filter(|other| *other != address) {
            if let Ok(Ok(())) = timeout(LATE, self.ask(other, topics)).await {
                return;
            }
        }
    }

    /// Returns true if, by the cached metadata, other brokers lead all of these partitions.
    fn is_replaced(&self, address: &HostPort, partitions: &[TopicPartition]) -> bool {
        let topology = self.topology();
        let is_led_elsewhere = |TopicPartition { topic, partition }: &TopicPartition| {
            topology.leader(topic, *partition).is_some_and(|leader| leader != address)
        };
        partitions.iter().all(is_led_elsewhere)
    }
}
