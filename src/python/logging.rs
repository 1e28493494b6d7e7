//! Forwarding of the engine's log to Python's `logging`: `streamlog.client`, `streamlog.broker`.
//!
//! A thread that logs queues the line and continues; a separate thread acquires the interpreter to
//! write it. Lines beyond the queue's capacity are dropped, and so are the lines of a forked child.
//!
//! Python's loggers decide which lines are written. Their levels change at any time and without
//! notice, so the engine passes on every line except the most detailed, one for each request.

use std::fmt::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pyo3::exceptions::PyRuntimeError;
use pyo3::types::PyAnyMethods;
use pyo3::{Py, PyAny, PyResult, Python};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::io::Worker;

/// The capacity of the queue.
const WAITING_MAX: usize = 1024;

/// The most detailed lines that are passed on.
const LEVEL_MAX: LevelFilter = LevelFilter::DEBUG;

/// A tracing subscriber for events; spans are ignored.
struct Bridge {
    lines: SyncSender<Line>,
}

/// A log line with its logger.
struct Line {
    logger: String,
    level: u8,
    text: String,
}

/// Installs the bridge to Python's logging, unless the process has a tracing subscriber already.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    if tracing::dispatcher::has_been_set() {
        return Ok(());
    }
    let logging = py.import("logging")?;
    let root = logging.call_method1("getLogger", ("streamlog",))?;
    root.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
    let (lines, waiting) = sync_channel(WAITING_MAX);
    if tracing::subscriber::set_global_default(Bridge { lines }).is_ok() {
        let loggers = logging.getattr("getLogger")?.unbind();
        Worker::start("streamlog-log", report_panic, move || write_all(&waiting, &loggers))?;
    }
    Ok(())
}

/// Reports to the interpreter that the bridge's thread has panicked: no line reaches the loggers
/// any more.
fn report_panic(name: &str) {
    Python::try_attach(|py| {
        let error = format!(
            "the thread '{name}' has panicked: streamlog's loggers get no more lines in this \
             process; restart it"
        );
        PyRuntimeError::new_err(error).write_unraisable(py, None);
    });
}

fn write_all(lines: &Receiver<Line>, loggers: &Py<PyAny>) {
    for line in lines {
        let written = Python::try_attach(|py| {
            let arguments = (line.level, "%s", line.text);
            let logger = loggers.bind(py).call1((line.logger,));
            if let Err(error) = logger.and_then(|to| to.call_method1("log", arguments)) {
                error.write_unraisable(py, None);
            }
        });
        if written.is_none() {
            // The interpreter is shutting down.
            return;
        }
    }
}

/// Python's number of a log level.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        _ => 10,
    }
}

impl Subscriber for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= LEVEL_MAX && is_ours(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LEVEL_MAX)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let layer = metadata.target().split("::").nth(1).unwrap_or("engine");
        let mut text = Text::default();
        event.record(&mut text);
        let logger = format!("streamlog.{layer}");
        let text = format!("{}{}", text.message, text.fields);
        // Never block for a log line: if the queue is full, drop it.
        let _ = self.lines.try_send(Line { logger, level: number(*metadata.level()), text });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.target().split("::").next() == Some("streamlog")
}

/// The message of an event, followed by its fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}
