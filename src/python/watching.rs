//! Client events, passed to the application's callbacks.
//!
//! Each callback has its own thread, so that neither a thread of the application nor a connection
//! waits for it. Events beyond the queue's capacity are dropped.

use std::sync::mpsc::{Receiver, sync_channel};

use pyo3::types::PyAnyMethods;
use pyo3::{Bound, Py, PyAny, PyResult, Python};

use crate::client::{Client, ClientStats, Event};
use crate::io::Worker;

/// The capacity of a callback's queue.
const WAITING_MAX: usize = 1024;

/// Calls `callback` with each event of the client until the client is closed.
pub(super) fn watch(client: &Client, callback: Py<PyAny>) -> PyResult<()> {
    let (events, waiting) = sync_channel(WAITING_MAX);
    let on_panic = |name: &str| {
        tracing::error!(
            target: "streamlog::client",
            "the thread '{name}' has panicked: a callback of on_event is not called again; create \
             another client"
        );
    };
    // The thread ends with the client, which drops the other end of the queue.
    Worker::start("streamlog-events", on_panic, move || {
        call_all(&waiting, &callback);
        // Drop the callback with the interpreter attached; otherwise pyo3 would defer the drop
        // until another thread attaches.
        Python::try_attach(|_| drop(callback));
    })?;
    client.on_event(move |event| {
        // Never block for a callback: if its queue is full, drop the event.
        let _ = events.try_send(event.clone());
    });
    Ok(())
}

/// Converts statistics to an object of `streamlog.events`.
pub(super) fn stats<'py>(py: Python<'py>, stats: &ClientStats) -> PyResult<Bound<'py, PyAny>> {
    class(py, "ClientStats")?.call1((
        stats.connections,
        stats.is_lost,
        stats.connects,
        stats.losses,
        stats.requests,
        stats.bytes_sent,
        stats.bytes_received,
        stats.throttled,
        stats.rebalances,
    ))
}

fn call_all(waiting: &Receiver<Event>, callback: &Py<PyAny>) {
    for event in waiting {
        let called = Python::try_attach(|py| {
            let called = made(py, event).and_then(|event| callback.call1(py, (event,)));
            if let Err(error) = called {
                error.write_unraisable(py, Some(callback.bind(py)));
            }
        });
        if called.is_none() {
            // The interpreter is shutting down.
            return;
        }
    }
}

/// Converts an event to an object of `streamlog.events`.
fn made(py: Python<'_>, event: Event) -> PyResult<Bound<'_, PyAny>> {
    match event {
        Event::Connected { address, outage } => {
            class(py, "Connected")?.call1((address, outage.as_secs_f64()))
        }
        Event::Lost { address, reason } => class(py, "Lost")?.call1((address, reason)),
        Event::Throttled { address, delay } => {
            class(py, "Throttled")?.call1((address, delay.as_secs_f64()))
        }
        Event::Rebalanced { group, generation, partitions } => {
            let row = |at: crate::types::TopicPartition| (at.topic.to_string(), at.partition.0);
            let partitions: Vec<(String, i32)> = partitions.into_iter().map(row).collect();
            class(py, "Rebalanced")?.call1((group, generation, partitions))
        }
    }
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("streamlog.events")?.getattr(name)
}
