//! What the engine logs, as Python's `logging` has it: `streamlog.client`, `streamlog.broker`.
//!
//! Whoever logs hands a line over and goes on; one thread takes the interpreter for it. What that
//! thread cannot keep up with is dropped, and so is what a forked child logs.

use std::fmt::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use pyo3::types::PyAnyMethods;
use pyo3::{Py, PyAny, PyResult, Python};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Lines that wait for the interpreter.
const WAITING_MAX: usize = 1024;

/// Takes events, and nothing else of tracing.
struct Bridge {
    lines: SyncSender<Line>,
    level: LevelFilter,
}

/// What is logged, and by whom.
struct Line {
    logger: String,
    level: u8,
    text: String,
}

/// Lets the engine log by way of Python, unless the process logs by a way of its own.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    if tracing::dispatcher::has_been_set() {
        return Ok(());
    }
    let logging = py.import("logging")?;
    let root = logging.call_method1("getLogger", ("streamlog",))?;
    root.call_method1("addHandler", (logging.call_method0("NullHandler")?,))?;
    let threshold: u8 = root.call_method0("getEffectiveLevel")?.extract()?;
    let is_debugging = threshold <= number(Level::DEBUG);
    let level = if is_debugging { LevelFilter::DEBUG } else { LevelFilter::INFO };
    let (lines, waiting) = sync_channel(WAITING_MAX);
    if tracing::subscriber::set_global_default(Bridge { lines, level }).is_ok() {
        let loggers = logging.getattr("getLogger")?.unbind();
        let name = "streamlog-log".to_owned();
        thread::Builder::new().name(name).spawn(move || write_all(&waiting, &loggers))?;
    }
    Ok(())
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
            // The interpreter is ending.
            return;
        }
    }
}

/// Python's number of a level.
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
        metadata.is_event() && *metadata.level() <= self.level && is_ours(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let layer = metadata.target().split("::").nth(1).unwrap_or("engine");
        let mut text = Text::default();
        event.record(&mut text);
        let logger = format!("streamlog.{layer}");
        let text = format!("{}{}", text.message, text.fields);
        // Nobody waits for a log.
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

/// The words of an event, and its fields behind them.
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
            // Writing to a text cannot fail.
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}
