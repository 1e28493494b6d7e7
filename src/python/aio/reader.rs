//! Taking messages on an event loop's thread, and waiting for them with futures.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyStopAsyncIteration;
use pyo3::{Bound, FromPyObject, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::time_slice::{NextIteration, TimeSlice};
use crate::client::{self, ClientError};
use crate::python::errors::raised;
use crate::python::futures::EventLoop;
use crate::python::reading::{
    Consumer, Letter, Message, Offered, Range, Readable, Source, Stream, UntilEnd,
};

type News = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The reader of a message source on one event loop.
#[pyclass(frozen, module = "streamlog._core.aio")]
pub(crate) struct Reader {
    event_loop: Py<EventLoop>,
    readable: Box<dyn Readable>,
    time_slice: TimeSlice,
    pending: Mutex<Pending>,
    /// True if a dead letter or an error may precede the next message; a fast check for each
    /// message.
    is_blocked: AtomicBool,
}

/// A Python object that a reader takes messages from.
#[derive(FromPyObject)]
enum Given {
    Consumer(Py<Consumer>),
    Stream(Py<Stream>),
    UntilEnd(Py<UntilEnd>),
    Range(Py<Range>),
}

/// The state that precedes the next message.
#[derive(Default)]
struct Pending {
    /// Ready at the next change of the buffer of fetched records.
    news: Option<News>,
    /// A dead letter to publish before the next message.
    letter: Option<Arc<Letter>>,
    /// An error that followed messages already returned.
    error: Option<PyErr>,
}

impl From<Given> for Box<dyn Readable> {
    fn from(given: Given) -> Self {
        match given {
            Given::Consumer(consumer) => Box::new(consumer),
            Given::Stream(stream) => Box::new(stream),
            Given::UntilEnd(messages) => Box::new(messages),
            Given::Range(range) => Box::new(range),
        }
    }
}

impl Reader {
    /// The consumer whose positions are committed.
    fn consumer(&self) -> PyResult<Option<&Arc<client::Consumer>>> {
        self.readable.session().map(|session| session.consumer().get()).transpose()
    }

    /// Takes the next message if one is available. With `more`, messages returned before stay
    /// unprocessed.
    fn take_one(
        &self,
        py: Python<'_>,
        source: &dyn Source,
        more: bool,
    ) -> PyResult<Option<Message>> {
        let mut news: Option<News> = None;
        let hooks = self.readable.hooks();
        loop {
            hooks.attend(py, source.consumer())?;
            let found = match hooks.held().and_then(|held| held.take(source)) {
                Some(message) => Ok(Some(message)),
                None if more => source.try_more(),
                None => source.try_next(),
            };
            match found {
                Ok(Some(message)) => match hooks.offered(py, source.stream(), message) {
                    Offered::Message(message) => return Ok(Some(message)),
                    Offered::Nothing => {}
                    Offered::Letter(letter) => {
                        letter.hold();
                        self.pending().letter = Some(Arc::new(letter));
                        self.is_blocked.store(true, Ordering::Release);
                        return Ok(None);
                    }
                    Offered::Error(undecodable) if more => {
                        return undecodable.hold(py).map(|()| None);
                    }
                    Offered::Error(undecodable) => return Err(undecodable.raised(py)),
                },
                Ok(None) if source.is_over() => return Err(PyStopAsyncIteration::new_err(())),
                Ok(None) if news.is_some() => {
                    self.pending().news = news;
                    return Ok(None);
                }
                // Subscribe to changes and look once more: a message that arrived before the
                // subscription is found now, and a later one makes `news` ready.
                Ok(None) => news = Some(Box::pin(source.consumer().news())),
                Err(ClientError::Closed) => return Err(PyStopAsyncIteration::new_err(())),
                Err(error) => return Err(raised(py, error)),
            }
        }
    }

    /// Returns true if a dead letter or an error precedes the next message.
    fn is_blocked(&self) -> bool {
        if !self.is_blocked.load(Ordering::Acquire) {
            return false;
        }
        let pending = self.pending();
        let is_blocked = pending.letter.is_some() || pending.error.is_some();
        self.is_blocked.store(is_blocked, Ordering::Release);
        is_blocked
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'py, F>(&self, py: Python<'py>, future: F) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        EventLoop::start(self.event_loop.bind(py), future, |py, ()| Ok(py.None()))
    }
}

#[pymethods]
impl Reader {
    #[new]
    fn new(event_loop: Py<EventLoop>, source: Given) -> Self {
        Self {
            event_loop,
            readable: source.into(),
            time_slice: TimeSlice::default(),
            pending: Mutex::default(),
            is_blocked: AtomicBool::new(false),
        }
    }

    /// Returns the next message; after `None`, wait for `arrived`.
    fn take(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        if self.time_slice.is_over(py)? {
            return Ok(None);
        }
        if self.is_blocked() {
            // A dead letter precedes an error.
            let mut pending = self.pending();
            let is_next = pending.letter.is_none();
            return pending.error.take_if(|_| is_next).map_or(Ok(None), Err);
        }
        match self.readable.source()? {
            Some(source) => self.take_one(py, source, false),
            None => Err(PyStopAsyncIteration::new_err(())),
        }
    }

    /// Returns up to `count` further messages that are available; messages returned before stay
    /// unprocessed.
    fn take_more(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Message>> {
        let mut messages = Vec::new();
        let Some(source) = self.readable.source()?.filter(|_| !self.is_blocked()) else {
            return Ok(messages);
        };
        while messages.len() < count {
            match self.take_one(py, source, true) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    self.pending().error = Some(error);
                    self.is_blocked.store(true, Ordering::Release);
                    break;
                }
            }
        }
        Ok(messages)
    }

    /// True if the next call raises an error, or tries again to publish a dead letter that failed.
    #[getter]
    fn is_over(&self) -> PyResult<bool> {
        let pending = self.pending();
        if pending.letter.is_some() || pending.error.is_some() {
            return Ok(pending.error.is_some());
        }
        let (held, source) = (self.readable.hooks().held(), self.readable.source()?);
        Ok(held.zip(source).is_some_and(|(held, source)| held.is_any(source.stream())))
    }

    /// Returns a future that is ready once there may be a message to take.
    fn arrived<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, own) = (this.py(), this.get());
        own.time_slice.restart(py)?;
        let mut pending = own.pending();
        let (news, letter) = (pending.news.take(), pending.letter.clone());
        drop(pending);
        let Some(letter) = letter else {
            return match news {
                Some(news) => own.wait(py, news),
                None => own.wait(py, NextIteration::default()),
            };
        };
        let reader = this.clone().unbind();
        let publishing = async move {
            let published = letter.publishing().await;
            (letter, published)
        };
        EventLoop::start(own.event_loop.bind(py), publishing, move |py, (letter, published)| {
            // A letter that failed stays held, and the next call creates it again. Another task may
            // have replaced it already, so compare before removing.
            let mut pending = reader.get().pending();
            pending.letter.take_if(|next| Arc::ptr_eq(next, &letter));
            drop(pending);
            match published {
                Ok(()) => {
                    letter.release();
                    Ok(py.None())
                }
                Err(error) => Err(letter.failed(py, error)),
            }
        })
    }

    /// Commits the positions after these messages, or after all returned messages.
    #[pyo3(signature = (messages=None))]
    fn commit<'py>(
        &self,
        py: Python<'py>,
        messages: Option<Vec<Bound<'py, Message>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(consumer) = self.consumer()? else {
            return Err(raised(py, ClientError::Closed));
        };
        let offsets = match messages {
            None => self.readable.hooks().reached(consumer.received()),
            Some(messages) => {
                let mut offsets = BTreeMap::new();
                for message in messages {
                    let (partition, after) = message.get().after()?;
                    offsets.insert(partition, after);
                }
                offsets.into_iter().collect()
            }
        };
        let committing = consumer.committing(offsets).into_future();
        EventLoop::ask(self.event_loop.bind(py), committing, |py, ()| Ok(py.None()))
    }

    /// Ends reading; a group member leaves its group.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(consumer) = self.consumer()?.cloned() else {
            return self.wait(py, std::future::ready(()));
        };
        self.wait(py, async move { consumer.closing().await })
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
