//! Keyword options and `config={...}`: Python names for Kafka's settings.
//!
//! Durations are seconds, and sizes are bytes or texts such as "64 MiB"; `config` takes Kafka's
//! names and units. `None` means not given. A setting given both ways, an unknown option and an
//! invalid value are errors that name the option.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::types::{
    PyAnyMethods, PyBool, PyDict, PyList, PyListMethods, PyMapping, PyMappingMethods, PyTuple,
};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult};

use super::values::{Expected, value};
use crate::client::ClientSettings;
use crate::config::{ConfigError, Fault, in_unit_of};
use crate::python::errors::refused;

/// The Python form of an option's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// The same as the setting's value: a string, number, size or boolean.
    Plain,
    /// Seconds; the setting is in milliseconds.
    Seconds,
    /// A string, or a list of strings.
    List,
}

/// An option with the setting that it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) form: Form,
}

/// Options of Kafka's clients that correspond to an option here, but to no setting with the same
/// meaning.
const THEIRS: &[Word] = &[
    Word::plain("key", "key.serializer"),
    Word::plain("key", "key.deserializer"),
    Word::plain("value", "value.serializer"),
    Word::plain("value", "value.deserializer"),
    Word::plain("start", "auto.offset.reset"),
    Word::plain("commit", "enable.auto.commit"),
    Word::plain("partitions", "num.partitions"),
    Word::plain("replicas", "replication.factor"),
];

/// Applies settings by Kafka's names; the error names the invalid settings.
pub(crate) type Setter<'a> = dyn FnMut(&[(&str, &str)]) -> Result<(), ConfigError> + 'a;

/// An option that was given, with its setting and the setting's text.
#[derive(Debug)]
struct Given {
    name: String,
    key: String,
    text: String,
}

/// The options of a call. Reading an option removes it.
#[derive(Debug)]
pub(crate) struct Options<'py> {
    rows: Vec<(String, Bound<'py, PyAny>)>,
    /// Options that the call accepts.
    asked: Vec<Word>,
}

impl Word {
    /// An option with the same value as the setting `key`.
    pub(crate) const fn plain(name: &'static str, key: &'static str) -> Self {
        Self { name, key, form: Form::Plain }
    }

    /// An option in seconds for the setting `key` in milliseconds.
    pub(crate) const fn seconds(name: &'static str, key: &'static str) -> Self {
        Self { name, key, form: Form::Seconds }
    }
}

impl<'py> Options<'py> {
    /// The options given, without those that are `None`.
    pub(crate) fn of(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut rows = Vec::new();
        for (name, value) in given.into_iter().flatten() {
            if !value.is_none() {
                rows.push((name.extract()?, value));
            }
        }
        Ok(Self { rows, asked: Vec::new() })
    }

    /// Takes the option `name` without conversion, if given.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Bound<'py, PyAny>> {
        self.take_word(Word::plain(name, name))
    }

    fn take_word(&mut self, word: Word) -> Option<Bound<'py, PyAny>> {
        self.asked.push(word);
        let at = self.rows.iter().position(|(given, _)| given == word.name)?;
        Some(self.rows.swap_remove(at).1)
    }

    /// Returns the option `name` without taking it, if given.
    pub(crate) fn peek(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        self.rows.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// Takes the callable option `name`, if given.
    pub(crate) fn take_callable(&mut self, name: &'static str) -> PyResult<Option<Py<PyAny>>> {
        callable(name, self.take(name))
    }

    /// Takes the option `name` converted to `T`, if given.
    pub(crate) fn take_as<T>(&mut self, name: &'static str) -> PyResult<Option<T>>
    where
        T: FromPyObjectOwned<'py> + Expected,
    {
        self.take(name).map(|given| value(name, &given)).transpose()
    }

    /// Passes the settings of the options in `words` and of `config={...}` to `set`; fails if other
    /// options are left.
    pub(crate) fn apply(mut self, words: &[Word], set: &mut Setter<'_>) -> PyResult<()> {
        let given = self.take_words(words)?;
        let dotted = self.take("config");
        self.none_left()?;
        apply_all(&given, words, dotted.as_ref(), set)
    }

    /// As [`apply`](Self::apply), but every other option counts as a setting's name with
    /// underscores for dots.
    pub(crate) fn apply_dotting(mut self, words: &[Word], set: &mut Setter<'_>) -> PyResult<()> {
        let mut given = self.take_words(words)?;
        let dotted = self.take("config");
        for (name, value) in self.rows {
            let text = text(&name, Form::List, &value)?;
            given.push(Given { key: name.replace('_', "."), name, text });
        }
        apply_all(&given, words, dotted.as_ref(), set)
    }

    fn take_words(&mut self, words: &[Word]) -> PyResult<Vec<Given>> {
        let mut given = Vec::new();
        for word in words {
            if let Some(value) = self.take_word(*word) {
                let text = text(word.name, word.form, &value)?;
                given.push(Given { name: word.name.to_owned(), key: word.key.to_owned(), text });
            }
        }
        Ok(given)
    }

    /// Fails if an option is left.
    pub(crate) fn none_left(&self) -> PyResult<()> {
        let unknown = self.rows.iter().map(|(name, _)| self.unknown(name)).collect();
        ConfigError::from_faults(unknown).map_err(|error| refused(&error))
    }

    /// The fault of an unknown option. Suggests this package's name for an option of Kafka's
    /// clients, or else the most similar name.
    fn unknown(&self, name: &str) -> Fault {
        let key = name.replace('_', ".");
        let has = |name| self.asked.iter().any(|word| word.name == name);
        let theirs = THEIRS.iter().filter(|word| has(word.name));
        if let Some(word) = self.asked.iter().chain(theirs).find(|word| word.key == key) {
            let unit = if matches!(word.form, Form::Seconds) { ", in seconds" } else { "" };
            return Fault::unknown_but(name, format!("'{}'{unit}", word.name));
        }
        if ClientSettings::names().any(|known| known == key) {
            return Fault::unknown_but(name, format!("connect(config={{'{key}': ...}})"));
        }
        Fault::unknown(name, self.asked.iter().map(|word| word.name))
    }
}

/// Applies all settings at once, so that contradictions between them are found wherever they were
/// given.
fn apply_all(
    given: &[Given],
    words: &[Word],
    dotted: Option<&Bound<'_, PyAny>>,
    set: &mut Setter<'_>,
) -> PyResult<()> {
    let dotted = dotted.map(|dotted| read_dotted(dotted, given)).transpose()?;
    let dotted = dotted.unwrap_or_default();
    let plain = given.iter().map(|row| (&*row.key, &*row.text));
    let names = dotted.iter().map(|(name, value)| (&**name, &**value));
    let settings: Vec<(&str, &str)> = plain.chain(names).collect();
    set(&settings).map_err(|error| renamed(error, given, words))
}

fn read_dotted(dotted: &Bound<'_, PyAny>, given: &[Given]) -> PyResult<Vec<(String, String)>> {
    let mut values = Vec::new();
    for (name, value) in mapping("config", dotted)? {
        if let Some(row) = given.iter().find(|row| row.key == name) {
            let reason = format!("given twice: here and as {}=", row.name);
            return Err(refused(&ConfigError::single(&name, reason)));
        }
        if !value.is_none() {
            let value = plain(&name, &value)?;
            values.push((name, value));
        }
    }
    Ok(values)
}

/// The argument `name`, which must be callable if given.
pub(crate) fn callable(name: &str, given: Option<Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    match given {
        Some(value) if !value.is_callable() => {
            let kind = value.get_type();
            let reason = format!("expected something that can be called, not {kind}");
            Err(refused(&ConfigError::single(name, reason)))
        }
        value => Ok(value.map(Bound::unbind)),
    }
}

/// The items of the argument `name`, which must be a mapping with string keys.
pub(crate) fn mapping<'py>(
    name: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let Ok(mapping) = given.cast::<PyMapping>() else {
        let reason = format!("expected a mapping of names to values, not {}", given.get_type());
        return Err(refused(&ConfigError::single(name, reason)));
    };
    mapping.items()?.iter().map(|row| row.extract()).collect()
}

/// The value of Kafka's setting `name` as text; `7d` and `1GiB` are converted to its unit.
pub(crate) fn plain(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = text(name, Form::List, value)?;
    Ok(in_unit_of(&name.replace('_', "."), &text))
}

/// The value as the text that settings are parsed from.
fn text(name: &str, form: Form, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match form {
        Form::Seconds => {
            let seconds: f64 = self::value(name, value)?;
            if !(0.0..=1e9).contains(&seconds) {
                let fault = Fault::invalid(name, &seconds.to_string(), "seconds, not negative");
                return Err(refused(&ConfigError { faults: vec![fault] }));
            }
            Ok(format!("{:.0}", (seconds * 1e3).ceil()))
        }
        Form::List if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
            Ok(self::value::<Vec<String>>(name, value)?.join(","))
        }
        _ if value.is_instance_of::<PyBool>() => Ok(value.extract::<bool>()?.to_string()),
        _ => Ok(value.str()?.extract()?),
    }
}

/// Replaces settings' names in faults by the options that the caller used.
fn renamed(mut error: ConfigError, given: &[Given], words: &[Word]) -> PyErr {
    for fault in &mut error.faults {
        let Some(row) = given.iter().find(|row| row.key == fault.key) else { continue };
        fault.key.clone_from(&row.name);
        for word in words {
            let (theirs, ours) = (format!("{}=", word.key), format!("{}=", word.name));
            fault.reason = fault.reason.replace(&theirs, &ours);
        }
    }
    refused(&error)
}
