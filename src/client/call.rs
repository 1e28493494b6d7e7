//! A request to the cluster that has not been sent yet; the caller blocks on it or awaits it.
//!
//! The work runs on the client's thread either way, so any executor can poll the future. Its result
//! must be plain data: a value that owns the client could be dropped on the client's thread, which
//! would then wait for its own end.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::client::ClientError;
use crate::client::waiting::Waiter;
use crate::link::Tasks;

type Work<T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send>>;

/// A deferred request; nothing is sent before [`wait`](Self::wait) or `.await`.
#[must_use = "nothing is sent before `wait` or `.await`"]
pub struct Call<T> {
    tasks: Tasks,
    waiter: Waiter,
    work: Work<T>,
}

/// The pending answer of a request. Dropping it cancels the request.
#[derive(Debug)]
pub struct Answer<T> {
    outcome: oneshot::Receiver<Result<T, ClientError>>,
    task: AbortHandle,
}

impl<T: Send + 'static> Call<T> {
    /// Wraps `work`, which enforces its own deadline.
    pub(crate) fn new<F>(tasks: Tasks, waiter: Waiter, work: F) -> Self
    where
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        Self { tasks, waiter, work: Box::pin(work) }
    }

    /// Runs the request and blocks this thread until the answer has arrived.
    ///
    /// # Errors
    /// The errors of the request, and [`ClientError::Closed`] when the client is closed meanwhile.
    pub fn wait(self) -> Result<T, ClientError> {
        self.waiter.run(&self.tasks, self.work)
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, ClientError>;
    type IntoFuture = Answer<T>;

    fn into_future(self) -> Answer<T> {
        let (answer, outcome) = oneshot::channel();
        let work = self.work;
        let task = self.tasks.start(async move {
            // The caller may have dropped its receiver.
            let _ = answer.send(work.await);
        });
        Answer { outcome, task }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, ClientError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answered = ready!(Pin::new(&mut self.outcome).poll(context));
        Poll::Ready(answered.unwrap_or(Err(ClientError::Closed)))
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
