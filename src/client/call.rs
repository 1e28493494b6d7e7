//! A question to the cluster, before it is asked: by a thread that waits, or as a future.
//!
//! What is asked runs on the client's thread either way, so that the future can be polled by any
//! executor. It gives plain data: what owns the client would end it there, on its own thread.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::client::ClientError;
use crate::client::background::Tasks;
use crate::client::waiting::Waiter;

type Work<T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send>>;

/// A question; nothing happens before [`wait`](Self::wait) or `.await`.
#[must_use = "nothing is asked before it is waited for"]
pub struct Call<T> {
    tasks: Tasks,
    waiter: Waiter,
    work: Work<T>,
}

/// The answer of a question that was asked. Dropping it takes the question back.
#[derive(Debug)]
pub struct Answer<T> {
    outcome: oneshot::Receiver<Result<T, ClientError>>,
    task: AbortHandle,
}

impl<T: Send + 'static> Call<T> {
    /// Asks by `work`, which brings its own deadline.
    pub(crate) fn new<F>(tasks: Tasks, waiter: Waiter, work: F) -> Self
    where
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        Self { tasks, waiter, work: Box::pin(work) }
    }

    /// Asks, and blocks this thread until the answer is there.
    ///
    /// # Errors
    /// Those of the question, and [`ClientError::Closed`] when the client ends.
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
            // Nobody may want the answer any more.
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
