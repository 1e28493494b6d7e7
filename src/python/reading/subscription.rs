//! The options of a consumer, parsed and checked against each other.

use pyo3::types::{PyAnyMethods, PyString};
use pyo3::{Bound, PyAny, PyResult, Python};

use super::decoding::{DEAD_LETTERS, Decoding};
use super::hooks::Hooks;
use crate::client::{Client, ClientSettings, Commit, ConsumerConfig, OutOfRange, Scope, Start};
use crate::config::{ConfigError, Fault};
use crate::python::arguments::{self, Options, Word};
use crate::python::errors::refused;

/// Options that stand for settings.
const WORDS: &[Word] = &[
    Word::plain("group", GROUP),
    Word::seconds("commit_interval", "auto.commit.interval.ms"),
    Word::plain("buffer", "fetch.buffer.bytes"),
    Word::plain("fetch_bytes", "fetch.max.bytes"),
    Word::seconds("fetch_wait", "fetch.max.wait.ms"),
    Word::plain("create_topics", "allow.auto.create.topics"),
];

const GROUP: &str = "group.id";

/// Options that have no effect without a group.
const OF_GROUPS: [&str; 4] = ["commit", "commit_interval", "on_assign", "on_revoke"];

/// The arguments of `Client.consumer`.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) topics: Vec<String>,
    pub(crate) config: ConsumerConfig,
    pub(crate) hooks: Hooks,
    /// True if SIGTERM ends reading.
    pub(crate) signals: bool,
}

impl Subscription {
    /// Reads the given options over `settings`.
    pub(crate) fn read(
        client: &Client,
        topics: Vec<String>,
        mut settings: ClientSettings,
        mut options: Options<'_>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let broadcast = py.import("streamlog.groups")?.getattr("BROADCAST")?;
        let is_broadcast = options.peek("group").is_some_and(|group| group.is(&broadcast));
        if is_broadcast {
            options.take("group");
            settings.consumer.group.id = None;
            settings.consumer.start = Start::Latest;
        }
        let of_groups = OF_GROUPS.into_iter().filter(|name| options.peek(name).is_some());
        let of_groups: Vec<&str> = of_groups.collect();
        let out_of_range = options.take_as::<String>("on_out_of_range")?;
        let start = options.take("start");
        let commit = options.take_as::<String>("commit")?;
        let signals = options.take_as("signals")?.unwrap_or(false);
        let hooks = read_hooks(client, &mut options)?;
        options.apply(WORDS, &mut |values| {
            let is_group = |name: &str| name.replace('_', ".") == GROUP;
            if values.iter().any(|(name, value)| is_group(name) && value.trim().is_empty()) {
                let reason = "the name is empty: leave it out to read without a group";
                return Err(ConfigError::single(GROUP, reason));
            }
            settings.set_in(Scope::Consumer, values.iter().copied())
        })?;
        let mut config = settings.consumer;
        if let Some(start) = start {
            config.start = arguments::start("start", &start)?;
        }
        if let Some(word) = out_of_range {
            config.out_of_range = read_out_of_range(&word)?;
        }
        if let Some(commit) = commit {
            config.group.commit = read_commit(&commit)?;
        }
        if config.group.id.is_none() && !of_groups.is_empty() {
            return Err(needless(&of_groups, is_broadcast));
        }
        config.reports_changes = hooks.tells();
        hooks.check(&topics)?;
        Ok(Self { topics, config, hooks, signals })
    }
}

fn read_hooks(client: &Client, options: &mut Options<'_>) -> PyResult<Hooks> {
    let key = options.take_callable("key")?;
    let value = options.take_callable("value")?;
    let on_error = options.take("on_error").map(|given| read_on_error(&given)).transpose()?;
    let tombstones = options.take_as::<String>("tombstones")?;
    let skips_tombstones = match tombstones.as_deref() {
        None | Some("keep") => false,
        Some("skip") => true,
        Some(other) => return Err(misfit("tombstones", other, "keep or skip")),
    };
    let decoding = Decoding::of(key, value, on_error.as_deref(), skips_tombstones, client)?;
    let on_assign = options.take_callable("on_assign")?;
    let on_revoke = options.take_callable("on_revoke")?;
    let stop = options.take("stop").map(Bound::unbind);
    Ok(Hooks { decoding, on_assign, on_revoke, stop })
}

/// The value of `on_error` as a string, also for a `DeadLetters` object.
fn read_on_error(given: &Bound<'_, PyAny>) -> PyResult<String> {
    match given.getattr("topic") {
        Ok(topic) => Ok(format!("{DEAD_LETTERS}{}", topic.extract::<String>()?)),
        Err(_) => arguments::value("on_error", given),
    }
}

/// Converts a topic name or a sequence of names.
pub(crate) fn read_topics(topics: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(topic) = topics.cast::<PyString>() {
        return Ok(vec![topic.extract()?]);
    }
    let names: Vec<String> = topics.extract()?;
    if names.is_empty() {
        let reason = "none are named: expected a topic's name, or several";
        return Err(refused(&ConfigError::single("topics", reason)));
    }
    Ok(names)
}

fn read_commit(word: &str) -> PyResult<Commit> {
    match word {
        "processed" => Ok(Commit::Processed),
        "received" => Ok(Commit::Received),
        "manual" => Ok(Commit::Manual),
        other => Err(misfit("commit", other, "processed, received or manual")),
    }
}

/// Converts the value of `on_out_of_range`.
pub(crate) fn read_out_of_range(word: &str) -> PyResult<OutOfRange> {
    match word {
        "earliest" => Ok(OutOfRange::Earliest),
        "latest" => Ok(OutOfRange::Latest),
        "error" => Ok(OutOfRange::Error),
        other => Err(misfit("on_out_of_range", other, "earliest, latest or error")),
    }
}

fn misfit(name: &str, value: &str, expected: &str) -> pyo3::PyErr {
    refused(&ConfigError { faults: vec![Fault::invalid(name, value, expected)] })
}

/// The error of group options without a group.
fn needless(names: &[&str], is_broadcast: bool) -> pyo3::PyErr {
    let with = if is_broadcast { "with group=BROADCAST" } else { "without group=" };
    let reason = format!("given {with}: a consumer that reads alone shares and stores nothing");
    let fault = |name: &&str| Fault { key: (*name).to_owned(), reason: reason.clone() };
    refused(&ConfigError { faults: names.iter().map(fault).collect() })
}
