"""A table of a job's file, read key by key; a key that is never read is a fault.

Faults are collected, so that one reading of a file reports all of them, each with its line, its key
and, for an unknown name, the nearest known name.
"""

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path as FilePath
from typing import TypeAlias

from streamlog._core.texts import key_lines
from streamlog.errors import ConfigError
from streamlog.spark.durations import Duration

__all__ = ["Page", "Path", "Section", "hint"]

Path: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value; numbers count the elements of arrays."""

_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)\})")


def hint(name: str, known: Iterable[str]) -> str:
    """Returns the end of an error message, which suggests the nearest name if one is near."""
    nearest = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


class Page:
    """A job's file: its values, the lines of its keys, and its faults."""

    def __init__(self, name: str, text: str, variables: Mapping[str, str] = os.environ) -> None:
        """Parses the text.

        Raises:
            ConfigError: It is not valid TOML.
        """
        self.name = name
        self.variables = variables
        self._faults: list[tuple[int, str]] = []
        try:
            self.values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{name}: it is no TOML: {error}") from error
        self._lines = key_lines(text)

    @classmethod
    def of(cls, path: FilePath) -> "Page":
        """Reads and parses a file.

        Raises:
            ConfigError: It cannot be read, or is not valid TOML.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"{path}: it cannot be read: {reason}") from error
        return cls(str(path), text)

    def root(self) -> "Section":
        """The top-level table."""
        return Section(self, (), self.values)

    def place(self, path: Path) -> str:
        """Returns the file, the line and the key, for the beginning of a message."""
        return f"{self.name}:{self._line(path)}: {'.'.join(map(str, path))}"

    def fault(self, path: Path, message: str) -> None:
        """Records a fault at this key."""
        self._faults.append((self._line(path), f"{self.place(path)}: {message}"))

    def _line(self, path: Path) -> int:
        known = (path[:length] for length in range(len(path), 0, -1))
        return next((self._lines[each] for each in known if each in self._lines), 1)

    def check(self) -> None:
        """Finishes the reading.

        Raises:
            ConfigError: There are faults; the message has a line for each, in their order.
        """
        if self._faults:
            raise ConfigError("\n".join(message for _, message in sorted(self._faults)))


class Section:
    """A table of the file."""

    def __init__(self, page: Page, path: Path, values: Mapping[str, object]) -> None:
        """Wraps the table at this path."""
        self.page = page
        self.path = path
        self._values = values
        self._known: list[str] = []

    @property
    def name(self) -> str:
        """The last key of its path."""
        return str(self.path[-1])

    @property
    def place(self) -> str:
        """The file, the line and the key, for the beginning of a message."""
        return self.page.place(self.path)

    @property
    def written(self) -> Mapping[str, object]:
        """Its values as written, without the values of variables."""
        return self._values

    def has(self, *keys: str) -> list[str]:
        """Returns the keys that are present, and marks all of them as known."""
        self._known += keys
        return [key for key in keys if key in self._values]

    def fault(self, message: str, key: str | None = None) -> None:
        """Records a fault of the table, or of one of its keys."""
        self.page.fault(self.path if key is None else (*self.path, key), message)

    def value(self, key: str) -> object:
        """Returns the value of a key, unchanged."""
        return self._values[key]

    def one_of(self, *keys: str) -> str | None:
        """Returns the one key that is present; none or several are a fault."""
        found = self.has(*keys)
        listed = ", ".join(f"'{key}'" for key in keys)
        if len(found) == 1:
            return found[0]
        several = f"it has {' and '.join(found)}, expected only one of them"
        self.fault(several if found else f"one of {listed} is missing")
        return None

    def kind(self, kinds: Mapping[str, Collection[str]]) -> str | None:
        """Returns the kind whose key is present; keys of other kinds are a fault."""
        kind = self.one_of(*kinds)
        strange = self.has(*(key for keys in kinds.values() for key in keys))
        if kind is not None:
            for key in [key for key in strange if key not in kinds[kind]]:
                self.fault(f"it is not for {kind}, which has {', '.join(kinds[kind])}", key)
        return kind

    def text(self, key: str, otherwise: str = "", *, is_needed: bool = False) -> str:
        """Returns a string, with environment variables replaced."""
        self.has(key)
        value = self._values.get(key)
        if value is None:
            if is_needed:
                self.fault(f"'{key}' is missing")
            return otherwise
        if not isinstance(value, str) or not value.strip():
            self.fault("expected a string that is not empty", key)
            return otherwise
        return self._filled(value, key)

    def texts(self, key: str, *, is_needed: bool = False) -> tuple[str, ...]:
        """Returns a string or a list of strings as a tuple."""
        self.has(key)
        value = self._values.get(key, [])
        values = [value] if isinstance(value, str) else value
        is_list = isinstance(values, list) and all(isinstance(each, str) for each in values)
        if not is_list or (key in self._values and not values):
            self.fault("expected a string, or a list of strings", key)
            return ()
        if is_needed and not values:
            self.fault(f"'{key}' is missing")
        assert isinstance(values, list), values
        return tuple(self._filled(each, key) for each in values)

    def display(self, key: str, *used: str) -> tuple[str, ...]:
        """Returns the strings for display; as written if they contain variables."""
        value = self._values.get(key)
        written = value if isinstance(value, list) else [value]
        pairs = zip(written, used, strict=False)
        return tuple(
            text if isinstance(text, str) and _VARIABLE.search(text) else found
            for text, found in pairs
        )

    def flag(self, key: str, otherwise: bool = False) -> bool:
        """Returns a boolean."""
        self.has(key)
        value = self._values.get(key, otherwise)
        if not isinstance(value, bool):
            self.fault("expected true or false", key)
            return otherwise
        return value

    def word(self, key: str, words: Collection[str], otherwise: str) -> str:
        """Returns one of some words."""
        word = self.text(key, otherwise)
        if word not in words:
            listed = ", ".join(f"'{each}'" for each in words)
            self.fault(f"invalid value '{word}': expected {listed}{hint(word, words)}", key)
            return otherwise
        return word

    def duration(self, key: str, *, is_needed: bool = False) -> Duration | None:
        """Returns a duration, if the key is present."""
        text = self.text(key, is_needed=is_needed)
        try:
            return Duration.of(text) if text else None
        except ConfigError as error:
            self.fault(str(error), key)
            return None

    def table(self, key: str) -> "Section | None":
        """Returns a table within it."""
        self.has(key)
        if key not in self._values:
            return None
        value = self._values[key]
        if not isinstance(value, dict):
            self.fault("expected a table", key)
            return None
        return Section(self.page, (*self.path, key), value)

    def tables(self, key: str) -> "list[Section]":
        """Returns the tables within a table, in the order of the file."""
        table = self.table(key)
        found = [] if table is None else [table.table(name) for name in table._values]
        return [each for each in found if each is not None]

    def settings(self, key: str, said: Iterable[str] = ()) -> dict[str, str]:
        """Returns a table of settings as texts; names in `said` are faults: other keys set them."""
        table = self.table(key)
        known = {name.lower() for name in said}
        found = {}
        for name, value in () if table is None else _flat(table._values):
            if name.lower() in known:
                self.page.fault((*self.path, key, name), "said by another key of the file already")
            elif isinstance(value, bool):
                found[name] = str(value).lower()
            elif isinstance(value, str | int | float):
                found[name] = self._filled(str(value), key)
            else:
                self.fault(f"'{name}' is neither a string, a number, true nor false", key)
        return found

    def strings(self, key: str) -> dict[str, str]:
        """Returns a table of strings."""
        table = self.table(key)
        return {} if table is None else {name: table.text(name) for name in table._values}

    def end(self) -> None:
        """Finishes the table: each key that was not read is a fault."""
        for key in self._values:
            if key not in self._known:
                self.fault(f"unknown{hint(key, self._known)}", key)

    def _filled(self, text: str, key: str) -> str:
        def value_of(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return "$"
            if name not in self.page.variables:
                self.fault(f"the environment has no {name}{hint(name, self.page.variables)}", key)
            return self.page.variables.get(name, "")

        return _VARIABLE.sub(value_of, text)


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yields dotted names, written in quotes or as nested tables."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
