//! Conversion of the client's errors to the exceptions of `streamlog.errors`.

use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyAny, PyErr, PyResult, Python, import_exception};

use crate::client::{Attempt, ClientError, Damage, DeliveryFailure, Remedy};
use crate::config::ConfigError as Faults;

import_exception!(streamlog.errors, AuthenticationError);
import_exception!(streamlog.errors, AuthorizationError);
import_exception!(streamlog.errors, BrokerError);
import_exception!(streamlog.errors, Closed);
import_exception!(streamlog.errors, ConfigError);
import_exception!(streamlog.errors, ConnectError);
import_exception!(streamlog.errors, DecodeError);
import_exception!(streamlog.errors, DeliveryError);
import_exception!(streamlog.errors, FencedError);
import_exception!(streamlog.errors, ForkError);
import_exception!(streamlog.errors, MessageTooLarge);
import_exception!(streamlog.errors, MissingExtra);
import_exception!(streamlog.errors, OffsetOutOfRange);
import_exception!(streamlog.errors, RecordsLost);
import_exception!(streamlog.errors, RequestTimeout);
import_exception!(streamlog.errors, StreamlogError);
import_exception!(streamlog.errors, TopicExists);
import_exception!(streamlog.errors, TopicNotFound);

/// Kafka's error code for damaged records.
const CORRUPT_MESSAGE: i16 = 2;

/// The time that leaving a block waits for undelivered records after Ctrl-C. Without a limit the
/// program would seem to ignore the key for as long as `delivery_timeout`.
const AFTER_CTRL_C: Duration = Duration::from_secs(5);

/// The time limit of closing what a block has used, if `error` has ended the block.
pub(crate) fn block_limit(error: &Bound<'_, PyAny>) -> Option<Duration> {
    error.is_instance_of::<PyKeyboardInterrupt>().then_some(AFTER_CTRL_C)
}

/// The outcome of leaving the block of a producer or a client, `what`: an error of the block
/// propagates, with a note about what was not delivered.
pub(crate) fn left_block(
    what: &str,
    error: &Bound<'_, PyAny>,
    closed: PyResult<()>,
) -> PyResult<()> {
    match closed {
        // Ctrl-C while the records are delivered is no error of the delivery.
        Err(undelivered)
            if !error.is_none() && undelivered.is_instance_of::<StreamlogError>(error.py()) =>
        {
            let note = format!("and when the {what} was closed: {undelivered}");
            error.call_method1("add_note", (note,)).map(drop)
        }
        closed => closed,
    }
}

/// The exception for `error`.
pub(crate) fn raised(py: Python<'_>, error: ClientError) -> PyErr {
    let text = error.to_string();
    match error {
        ClientError::Config(faults) => refused(&faults),
        ClientError::Connect { tried } => unreachable(&text, tried),
        ClientError::Timeout { operation, elapsed, last_error } => {
            let cause = last_error.map(|error| raised(py, *error));
            RequestTimeout::new_err((text, operation, elapsed.as_secs_f64(), cause))
        }
        ClientError::TopicNotFound { topic, nearest } => {
            let joint = if nearest.is_some() { "" } else { ":" };
            let text = format!("{text}{joint} admin.create_topic() creates a topic");
            TopicNotFound::new_err((text, topic, nearest))
        }
        ClientError::OffsetOutOfRange { requested, earliest, latest, .. } => {
            let text = format!("{text}; seek() to a position within, or to \"earliest\"");
            OffsetOutOfRange::new_err((text, requested.get(), earliest.get(), latest.get()))
        }
        ClientError::MessageTooLarge { size, limit } => {
            let text = match limit {
                Some(_) => format!("{text}: send less, or raise it and max.message.bytes"),
                None => format!("{text}: send less, or raise it"),
            };
            MessageTooLarge::new_err((text, size, limit))
        }
        ClientError::Damaged { partition, offset, source } => match &*source {
            Damage::GivenUp { position, resumed } => {
                let (topic, number) = (partition.topic.to_string(), partition.partition.0);
                let offsets = (offset.get(), position.get(), resumed.get());
                RecordsLost::new_err((text, topic, number, offsets.0, offsets.1, offsets.2))
            }
            damage => {
                let text = format!("{text}: {damage}");
                BrokerError::new_err((text, CORRUPT_MESSAGE, "CORRUPT_MESSAGE", false))
            }
        },
        ClientError::Delivery { failures, unlisted } => undelivered(py, text, failures, unlisted),
        ClientError::Closed => Closed::new_err(text),
        ClientError::Interrupted => {
            // The handler's exception was left pending in this thread by `gives_up`.
            PyErr::take(py).unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        ClientError::System(source) => StreamlogError::new_err(format!("{text}: {source}")),
        error => by_code(text, &error),
    }
}

/// The exception for invalid settings or arguments.
pub(crate) fn refused(faults: &Faults) -> PyErr {
    ConfigError::new_err(faults.to_string())
}

fn unreachable(text: &str, tried: Vec<Attempt>) -> PyErr {
    let tried: Vec<(String, String)> =
        tried.into_iter().map(|attempt| (attempt.address, attempt.reason)).collect();
    let text = format!(
        "{text}. `python -m streamlog.broker` starts one; an address that you did not give is the \
         one the broker advertises (its option --advertise)"
    );
    ConnectError::new_err((text, tried))
}

fn undelivered(
    py: Python<'_>,
    text: String,
    failures: Vec<DeliveryFailure>,
    unlisted: u64,
) -> PyErr {
    let row = |failure: DeliveryFailure| {
        let partition = failure.partition;
        let cause = raised(py, failure.error);
        (partition.topic.to_string(), partition.partition.0, failure.records, cause)
    };
    let failures: Vec<_> = failures.into_iter().map(row).collect();
    DeliveryError::new_err((text, failures, unlisted))
}

/// The exception for a broker's error code: a class of its own, or `BrokerError`.
fn by_code(text: String, error: &ClientError) -> PyErr {
    if error.is_fenced() {
        return FencedError::new_err(text);
    }
    let Some(code) = error.code() else { return StreamlogError::new_err(text) };
    let retriable = matches!(error.remedy(), Remedy::Retry | Remedy::Refresh);
    match code.name().unwrap_or("UNKNOWN") {
        "TOPIC_ALREADY_EXISTS" => TopicExists::new_err(text),
        "SASL_AUTHENTICATION_FAILED" => AuthenticationError::new_err(text),
        name if name.ends_with("_AUTHORIZATION_FAILED") => AuthorizationError::new_err(text),
        name => BrokerError::new_err((text, code.code(), name, retriable)),
    }
}
