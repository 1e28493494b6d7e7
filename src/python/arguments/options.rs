//! Keyword options and `config={...}`: Python's words for Kafka's settings.
//!
//! Durations are seconds and sizes are bytes or texts as "64 MiB"; `config` takes Kafka's names and
//! units. `None` is "not given". A setting given both ways, an unknown word and a value that does
//! not fit are errors that name the word.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::types::{PyAnyMethods, PyBool, PyDict, PyDictMethods, PyList, PyTuple};
use pyo3::{Bound, PyAny, PyErr, PyResult};

use crate::config::{ConfigError, Fault, Key, set_all};
use crate::python::errors::refused;

/// How a value is written in Python.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// As the setting is: text, number, size or truth.
    Plain,
    /// Seconds; the setting is in milliseconds.
    Seconds,
    /// A text, or a list of them.
    List,
}

/// A keyword and the setting behind it.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) form: Form,
}

/// The options of one call, until each is taken.
#[derive(Debug)]
pub(crate) struct Options<'py> {
    rows: Vec<(String, Bound<'py, PyAny>)>,
}

impl Word {
    /// A keyword whose value is that of the setting `key`.
    pub(crate) const fn plain(name: &'static str, key: &'static str) -> Self {
        Self { name, key, form: Form::Plain }
    }

    /// A keyword in seconds for the setting `key` in milliseconds.
    pub(crate) const fn seconds(name: &'static str, key: &'static str) -> Self {
        Self { name, key, form: Form::Seconds }
    }
}

impl<'py> Options<'py> {
    /// The options that were given.
    pub(crate) fn of(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut rows = Vec::new();
        for (name, value) in given.into_iter().flatten() {
            if !value.is_none() {
                rows.push((name.extract()?, value));
            }
        }
        Ok(Self { rows })
    }

    /// Takes the option `name` as it is, if it was given.
    pub(crate) fn take(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        let at = self.rows.iter().position(|(given, _)| given == name)?;
        Some(self.rows.swap_remove(at).1)
    }

    /// Takes the option `name` as a value of type `T`, if it was given.
    pub(crate) fn take_as<T>(&mut self, name: &str) -> PyResult<Option<T>>
    where
        T: FromPyObjectOwned<'py>,
    {
        let Some(value) = self.take(name) else { return Ok(None) };
        let extracted: Result<T, PyErr> = value.extract().map_err(Into::into);
        extracted.map(Some).map_err(|error| misfit(name, error))
    }

    /// Sets `config` from the `words` and from `config={...}`; nothing may be left then.
    pub(crate) fn apply<C>(
        mut self,
        config: &mut C,
        words: &[Word],
        keys: &[Key<C>],
    ) -> PyResult<()> {
        let mut values = Vec::new();
        for word in words {
            if let Some(value) = self.take(word.name) {
                values.push((word.key, text(word.name, word.form, &value)?, word.name));
            }
        }
        let dotted = self.take("config");
        self.none_left(words)?;
        let settings = values.iter().map(|(key, value, _)| (*key, value.as_str()));
        set_all(config, keys, settings).map_err(|error| renamed(error, &values))?;
        match dotted {
            Some(dotted) => apply_dotted(config, keys, &dotted, &values),
            None => Ok(()),
        }
    }

    /// Fails if an option is left.
    pub(crate) fn none_left(&self, words: &[Word]) -> PyResult<()> {
        let names = || words.iter().map(|word| word.name);
        let unknown = self.rows.iter().map(|(name, _)| Fault::unknown(name, names())).collect();
        ConfigError::from_faults(unknown).map_err(|error| refused(&error))
    }
}

fn apply_dotted<C>(
    config: &mut C,
    keys: &[Key<C>],
    dotted: &Bound<'_, PyAny>,
    given: &[(&str, String, &'static str)],
) -> PyResult<()> {
    let dotted = dotted.cast::<PyDict>().map_err(|error| misfit("config", error.into()))?;
    let mut values: Vec<(String, String)> = Vec::with_capacity(dotted.len());
    for (name, value) in dotted {
        let name: String = name.extract()?;
        if let Some((_, _, word)) = given.iter().find(|(key, _, _)| *key == name) {
            let reason = format!("given twice: here and as {word}=");
            return Err(refused(&ConfigError::single(&name, reason)));
        }
        let value = text(&name, Form::List, &value)?;
        values.push((name, value));
    }
    let settings = values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    set_all(config, keys, settings).map_err(|error| refused(&error))
}

/// The value in the form that settings are parsed from.
fn text(name: &str, form: Form, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match form {
        Form::Seconds => {
            let seconds: f64 = value.extract().map_err(|error: PyErr| misfit(name, error))?;
            if !(0.0..=1e9).contains(&seconds) {
                let fault = Fault::invalid(name, &seconds.to_string(), "seconds, not negative");
                return Err(refused(&ConfigError { faults: vec![fault] }));
            }
            Ok(format!("{:.0}", (seconds * 1e3).ceil()))
        }
        Form::List if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
            Ok(value.extract::<Vec<String>>()?.join(","))
        }
        _ if value.is_instance_of::<PyBool>() => Ok(value.extract::<bool>()?.to_string()),
        _ => Ok(value.str()?.extract()?),
    }
}

/// Faults under the words that the caller wrote.
fn renamed(mut error: ConfigError, values: &[(&str, String, &'static str)]) -> PyErr {
    for fault in &mut error.faults {
        if let Some((_, _, word)) = values.iter().find(|(key, _, _)| *key == fault.key) {
            (*word).clone_into(&mut fault.key);
        }
    }
    refused(&error)
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over a result")]
fn misfit(name: &str, error: PyErr) -> PyErr {
    refused(&ConfigError::single(name, error.to_string()))
}
