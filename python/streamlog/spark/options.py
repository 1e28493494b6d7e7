"""Options of reading and writing: case-insensitive names, and parsers of their values.

Spark passes options as texts under lower-case names. All unknown names are reported at once, each
with the nearest known name; an invalid value is reported with the expected form.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from streamlog._core import texts
from streamlog.errors import ConfigError

__all__ = ["PATIENCE", "SHARED", "Connection", "Options", "default_bootstrap", "duration", "size"]

SHARED = ("bootstrap", "brokerTimeout")
"""Options of reading and of writing, besides ``kafka.*``."""

PATIENCE = 120.0
"""The default of ``brokerTimeout``: seconds to wait for unreachable brokers."""

_KAFKA = "kafka."
_BOOTSTRAP = "kafka.bootstrap.servers"
_PROTOCOL = "kafka.security.protocol"

_REFUSED = {
    "kafka.auto.offset.reset": "say where to begin by startingOffsets",
    "kafka.enable.auto.commit": "progress is stored when 'group' names a group",
    "kafka.group.id": "name the group that progress is stored under by 'group'",
    "kafka.interceptor.classes": "there are none here",
    "kafka.key.deserializer": "keys are binary: decode them in Spark",
    "kafka.key.serializer": "keys are binary or texts: encode them in Spark",
    "kafka.partitioner.class": "use 'partitioner'",
    "kafka.value.deserializer": "values are binary: decode them in Spark",
    "kafka.value.serializer": "values are binary or texts: encode them in Spark",
    "fetchoffset.numretries": "use 'brokerTimeout'",
    "fetchoffset.retryintervalms": "use 'brokerTimeout'",
    "groupidprefix": "name the group that progress is stored under by 'group'",
    "path": "name the topics by 'subscribe'",
    "pushdown": "Spark reads what one query's filters left for the next query too: narrow the read "
    "by 'assign', 'startingOffsets', 'endingOffsets', 'startingTimestamp' or 'endingTimestamp'",
}
"""Options of Kafka's own source that are not supported here, with their alternatives."""

_ALIASES = {
    "kafka.acks": "acks",
    "kafka.compression.type": "compression",
    "kafka.isolation.level": "isolation",
    "kafkaconsumer.polltimeoutms": "brokerTimeout",
}
"""Options of Kafka's own source with an equivalent here."""


@dataclass(frozen=True)
class Connection:
    """The addresses and settings of a client. It can be pickled, and is the key of a client."""

    bootstrap: str
    settings: tuple[tuple[str, str], ...] = ()
    """The client's settings under Kafka's names."""
    patience: float = PATIENCE
    """Seconds to wait for unreachable brokers."""
    patience_name: str = "brokerTimeout"
    """The name of ``patience`` for users."""

    @classmethod
    def of(
        cls,
        bootstrap: str | None,
        config: Mapping[str, Any],
        patience: float = PATIENCE,
        patience_name: str = "brokerTimeout",
    ) -> "Connection":
        """Returns the connection for the arguments of ``streamlog.connect``."""
        settings = {name: _text_of(value) for name, value in config.items()}
        address = bootstrap or settings.pop("bootstrap.servers", None) or default_bootstrap()
        return cls(address, tuple(sorted(settings.items())), patience, patience_name)


class Options:
    """The options of one read or write.

    Example:
        >>> from streamlog.spark.options import Options
        >>> options = Options({"subscribe": "orders", "linger": "5"}, ["subscribe", "linger"])
        >>> options.text("subscribe"), options.integer("linger")
        ('orders', 5)
        >>> Options({"subscibe": "orders"}, ["subscribe"])
        Traceback (most recent call last):
        streamlog.errors.ConfigError: option 'subscibe': unknown, did you mean 'subscribe'?
    """

    def __init__(
        self,
        given: Mapping[str, str],
        known: Iterable[str],
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        """Takes the options as Spark passes them.

        Args:
            given: Texts by name.
            known: Names that are valid, besides the names in `SHARED` and ``kafka.*``.
            elsewhere: Names that are valid elsewhere only, each with a hint for the error.

        Raises:
            ConfigError: A name is unknown or refused.
        """
        self._given = {name.lower(): value for name, value in given.items()}
        self._names = {name.lower(): name for name in (*SHARED, *known)}
        refused = _REFUSED | {name.lower(): why for name, why in (elsewhere or {}).items()}
        faults = list(self._take_aliases())
        faults += [fault for name in self._given for fault in self._faults_of(name, refused)]
        if faults:
            raise ConfigError("; ".join(faults))

    def _take_aliases(self) -> Iterator[str]:
        for alias, name in _ALIASES.items():
            if alias not in self._given or name.lower() not in self._names:
                continue
            if name.lower() in self._given:
                yield f"option '{name}': given twice, here and as '{alias}'"
            self._given[name.lower()] = self._given.pop(alias)

    def _faults_of(self, name: str, refused: Mapping[str, str]) -> Iterator[str]:
        if name in self._names:
            return
        if name in refused:
            yield f"option '{name}': not taken, {refused[name]}"
        elif name == _PROTOCOL:
            if self._given[name].upper() != "PLAINTEXT":
                yield f"option '{name}': invalid value '{self._given[name]}': expected PLAINTEXT"
        elif not name.startswith(_KAFKA):
            nearest = get_close_matches(name, self._names, n=1)
            hint = f", did you mean '{self._names[nearest[0]]}'?" if nearest else ""
            yield f"option '{name}': unknown{hint}"

    def given(self, *names: str) -> list[str]:
        """Returns the names that have a value."""
        return [name for name in names if name.lower() in self._given]

    def text(self, name: str, otherwise: str | None = None) -> str | None:
        """Returns the text of an option, stripped."""
        text = self._given.get(name.lower())
        return otherwise if text is None else text.strip()

    def word(self, name: str, words: tuple[str, ...], otherwise: str) -> str:
        """Returns an option that is one of some words, in upper or lower case.

        Raises:
            ConfigError: It is another word.
        """
        text = (self.text(name) or otherwise).lower()
        for word in words:
            if word.lower() == text:
                return word
        raise misfit(name, text, " or ".join(f"'{word}'" for word in words))

    def truth(self, name: str, otherwise: bool) -> bool:
        """Returns an option that is true or false.

        Raises:
            ConfigError: It is neither.
        """
        return self.word(name, ("true", "false"), str(otherwise)) == "true"

    def integer(self, name: str, least: int = 1) -> int | None:
        """Returns an option that is a whole number; None if it was not given.

        Raises:
            ConfigError: It is not a number, or smaller than `least`.
        """
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"-?\d+", text) or int(text) < least:
            raise misfit(name, text, f"a number of at least {least}")
        return int(text)

    def size(self, name: str) -> int | None:
        """Returns an option in bytes, as ``"64 MiB"`` or ``"64m"``; None if it was not given.

        Raises:
            ConfigError: It is not a size.
        """
        text = self.text(name)
        return None if text is None else size(name, text)

    def seconds(self, name: str, otherwise: str) -> float:
        """Returns an option that is a duration, in seconds.

        Raises:
            ConfigError: It is not a duration.
        """
        return duration(name, self.text(name) or otherwise)

    def connection(self) -> Connection:
        """Returns the connection to the brokers.

        Raises:
            ConfigError: No address was given, or it was given twice.
        """
        addresses = self.given("bootstrap", _BOOTSTRAP)
        if len(addresses) == 2:
            raise ConfigError(f"option 'bootstrap': given twice, here and as '{_BOOTSTRAP}'")
        if not addresses:
            raise ConfigError("option 'bootstrap': missing, expected HOST:PORT of a broker")
        ours = {_BOOTSTRAP, _PROTOCOL}
        settings = {
            name.removeprefix(_KAFKA): value
            for name, value in self._given.items()
            if name.startswith(_KAFKA) and name not in ours
        }
        return Connection(
            bootstrap=self._given[addresses[0].lower()],
            settings=tuple(sorted(settings.items())),
            patience=self.seconds("brokerTimeout", f"{PATIENCE:g}s"),
        )


def duration(name: str, text: str) -> float:
    """Returns the seconds of a text as ``"500ms"`` or ``"15m"``; a bare number is milliseconds.

    Raises:
        ConfigError: It is not a duration.

    Example:
        >>> from streamlog.spark.options import duration
        >>> duration("maxTriggerDelay", "15m")
        900.0
    """
    words = text.strip().lower()
    found = texts.interval(f"{words} ms" if words.isdecimal() else words)
    if found is None:
        raise misfit(name, text, "a number with ms, s, m, h, d or w")
    microseconds, _ = found
    return microseconds / 1_000_000


def size(name: str, text: str) -> int:
    """Returns the bytes of a text as ``"64 MiB"`` or ``"64m"``; units are powers of 1024.

    Raises:
        ConfigError: It is not a size.

    Example:
        >>> from streamlog.spark.options import size
        >>> size("maxBytesPerTrigger", "1 KiB")
        1024
    """
    found = texts.size(text)
    if not found:
        raise misfit(name, text, "a size, as 64 MiB")
    return found


def default_bootstrap() -> str:
    """Returns the brokers' address that applies if none is given."""
    return os.environ.get("STREAMLOG_BOOTSTRAP", "127.0.0.1:9092")


def misfit(name: str, value: str, expected: str) -> ConfigError:
    """Returns the error for an invalid value."""
    return ConfigError(f"option '{name}': invalid value '{value}': expected {expected}")


def _text_of(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
