//! Requests that any broker can answer.
//!
//! The brokers are asked one after another. One that hangs delays the others by a second only: then
//! the next one is asked as well, and the first answer counts.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::brokers::{Brokers, metadata_of};
use crate::client::ClientError;
use crate::client::error::Attempt;
use crate::config::HostPort;
use crate::wire::Message;

/// The time after which an answer is late, and another broker is asked as well.
pub(super) const LATE: Duration = Duration::from_secs(1);

/// The first answer, with the address of the broker that gave it.
type FirstAnswer<'a, R> =
    dyn Future<Output = Result<(HostPort, <R as Message>::Response), ClientError>> + Send + 'a;

/// The times of a search for a broker that answers.
#[derive(Clone, Copy)]
struct Patience {
    /// The time after which the next broker is asked as well.
    late: Duration,
    /// The time that each broker has for its answer.
    longest: Duration,
}

impl Brokers {
    /// Sends a request that may be repeated to one broker after another, until one answers or each
    /// has failed. While only one is asked, an error other than of connecting ends the search.
    pub(crate) async fn call_any<R: Message>(
        &self,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        let (address, answer) = self.search(&self.candidates(), request).await?;
        // It is asked first from now on.
        self.answered_last.store(Some(Arc::new(address)));
        Ok(answer)
    }

    /// Makes the first contact.
    ///
    /// # Errors
    /// [`ClientError::Connect`] with every address and the reason it failed.
    pub(crate) async fn find(&self) -> Result<(), ClientError> {
        let request = metadata_of(Some(&[]), false);
        let (_, answer) = self.search(&self.config().bootstrap, &request).await?;
        self.learn(&answer);
        Ok(())
    }

    /// Asks the brokers at these addresses.
    async fn search<R: Message>(
        &self,
        addresses: &[HostPort],
        request: &R,
    ) -> Result<(HostPort, R::Response), ClientError> {
        // With equal shares, one broker that hangs cannot use up all the time.
        let count = u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        let longest = self.config().timeout / count;
        let patience = Patience { late: LATE.min(longest), longest };
        self.first_answer(addresses, request, patience).await
    }

    fn first_answer<'a, R: Message>(
        &'a self,
        addresses: &'a [HostPort],
        request: &'a R,
        patience: Patience,
    ) -> Pin<Box<FirstAnswer<'a, R>>> {
        Box::pin(async move {
            let Some((address, others)) = addresses.split_first() else {
                return Err(ClientError::Connect { tried: Vec::new() });
            };
            let mut first = pin!(self.answer_in_time(address, request, patience));
            let mut next = self.first_answer(others, request, patience);
            if let Ok(outcome) = timeout(patience.late, &mut first).await {
                return match outcome {
                    Err(ClientError::Connect { tried }) => with_tried(tried, next.await),
                    outcome => outcome,
                };
            }
            tokio::select! {
                biased;
                outcome = &mut first => match outcome {
                    Err(ClientError::Connect { tried }) => with_tried(tried, next.await),
                    outcome => outcome,
                },
                outcome = &mut next => match outcome {
                    Ok(answer) => Ok(answer),
                    Err(error) => match first.await {
                        Err(ClientError::Connect { tried }) => with_tried(tried, Err(error)),
                        outcome => outcome,
                    },
                },
            }
        })
    }

    /// Asks the broker at `address`. That it takes too long counts as an error of connecting.
    async fn answer_in_time<R: Message>(
        &self,
        address: &HostPort,
        request: &R,
        Patience { longest, .. }: Patience,
    ) -> Result<(HostPort, R::Response), ClientError> {
        let Ok(answer) = timeout(longest, self.call(address, request)).await else {
            let reason = format!("no answer within {longest:.1?}");
            return Err(ClientError::unreachable(address, reason));
        };
        Ok((address.clone(), answer?))
    }

    /// The brokers to contact: first the one that answered last, so that a broker that is down or
    /// hangs delays one call and not each; then those of the cached metadata, and the bootstrap
    /// addresses.
    pub(super) fn candidates(&self) -> Vec<HostPort> {
        let (topology, answered_last) = (self.topology(), self.answered_last.load_full());
        let mut candidates: Vec<HostPort> = topology.addresses().cloned().collect();
        for address in &self.config().bootstrap {
            if !candidates.contains(address) {
                candidates.push(address.clone());
            }
        }
        candidates.sort_by_key(|address| answered_last.as_deref() != Some(address));
        candidates
    }
}

/// Adds earlier attempts to the error, if no broker could be reached.
fn with_tried<T>(
    mut tried: Vec<Attempt>,
    outcome: Result<T, ClientError>,
) -> Result<T, ClientError> {
    outcome.map_err(|error| match error {
        ClientError::Connect { tried: more } => {
            tried.extend(more);
            ClientError::Connect { tried }
        }
        error => error,
    })
}
