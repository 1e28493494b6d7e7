"""Steps of a job: SQL, or one of the functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlog.spark.durations import Duration
from streamlog.spark.pipeline.decoding import Decoding
from streamlog.spark.pipeline.section import Section
from streamlog.spark.pipeline.source import Watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Step"]

VERBS = ("sql", "decode", "deduplicate", "window", "join")
_OF_STREAMS = ("right", "full")
_HOW = ("inner", "left", *_OF_STREAMS)


@dataclass(frozen=True)
class Step:
    """A view computed from other views."""

    name: str
    place: str
    """Its position in the file, for messages."""
    verb: str
    inputs: tuple[str, ...]
    """The views that it uses; for SQL, Spark finds them."""
    arguments: dict[str, Any] = field(default_factory=dict)
    display: Mapping[str, Any] = field(default_factory=dict)
    """The arguments given in the file, without the values of variables."""
    decoding: Decoding | None = None
    watermark: Watermark | None = None

    @classmethod
    def read(cls, section: Section, folder: Path) -> "Step":
        """Reads a table of `step`."""
        verb = section.one_of(*VERBS) or "sql"
        inputs: tuple[str, ...] = ()
        if verb == "sql":
            if section.has("from"):
                section.fault("SQL names its views itself", "from")
            arguments: dict[str, Any] = {"sql": section.text("sql")}
            display: Mapping[str, object] = {
                "sql": "".join(section.display("sql", arguments["sql"]))
            }
        else:
            inputs = (section.text("from", is_needed=True),)
            arguments, display = {}, {}
        decoding = None
        inner = section.table(verb) if verb != "sql" else None
        if inner is not None and verb == "decode":
            decoding = Decoding.read(inner, folder)
        elif inner is not None:
            arguments, display = _READERS[verb](inner), inner.written
            inner.end()
        if verb == "join":
            inputs = (*inputs, arguments.pop("with", ""))
        watermark = Watermark.read(section.table("watermark"))
        section.end()
        return cls(
            section.name, section.place, verb, inputs, arguments, display, decoding, watermark
        )

    def table(self, session: "SparkSession", views: "Mapping[str, DataFrame]") -> "DataFrame":
        """Returns its rows, computed from the preceding views."""
        if self.verb == "sql":
            return session.sql(self.arguments["sql"])
        first, *others = (views[name] for name in self.inputs)
        if self.decoding is not None:
            return self.decoding.of(first)
        return _APPLIED[self.verb](first, *others, dict(self.arguments))

    def __str__(self) -> str:
        """The summary for a plan."""
        if self.verb == "sql":
            return " ".join(self.display["sql"].split())
        if self.decoding is not None:
            return str(self.decoding)
        shown = {key: self.display.get(key, value) for key, value in self.arguments.items()}
        display = [f"{key} {_displayed(value)}" for key, value in shown.items() if value]
        return f"{self.verb}: {', '.join(display)}"


def _read_deduplicate(section: Section) -> dict[str, Any]:
    return {
        "by": section.texts("by", is_needed=True),
        "within": _text(section.duration("within")),
        "time": section.text("time", "timestamp"),
    }


def _read_window(section: Section) -> dict[str, Any]:
    kind = section.one_of("length", "gap")
    if kind == "gap" and section.has("slide"):
        section.fault("sessions do not slide", "slide")
    length, slide, gap = (_of_window(section, key) for key in ("length", "slide", "gap"))
    if length and slide and 0 < length.microseconds < slide.microseconds:
        section.fault(f"it is longer than the window, {length}: rows would be in none", "slide")
    aggregates = section.strings("aggregates")
    if not aggregates:
        section.fault("'aggregates' is missing: { n = \"count(*)\" } for example")
    return {
        "length": _text(length),
        "slide": _text(slide),
        "gap": _text(gap),
        "time": section.text("time", "timestamp"),
        "by": section.texts("by"),
        "aggregates": aggregates,
    }


def _of_window(section: Section, key: str) -> Duration | None:
    duration = section.duration(key)
    if duration is not None and not duration.microseconds:
        section.fault("a window is longer than nothing", key)
    return duration


def _text(duration: Duration | None) -> str | None:
    return None if duration is None else duration.text


def _read_join(section: Section) -> dict[str, Any]:
    how = section.word("how", _HOW, "inner")
    if how in _OF_STREAMS and not section.has("within"):
        message = f"'{how}' is for two streams, which need 'within'; expected 'inner' or 'left'"
        section.fault(message, "how")
    return {
        "with": section.text("with", is_needed=True),
        "by": section.texts("by", is_needed=True),
        "within": _text(section.duration("within")),
        "time": section.text("time", "timestamp"),
        "how": how,
    }


_READERS: dict[str, Callable[[Section], dict[str, Any]]] = {
    "deduplicate": _read_deduplicate,
    "window": _read_window,
    "join": _read_join,
}


def _deduplicated(table: "DataFrame", arguments: dict[str, Any]) -> "DataFrame":
    from streamlog.spark import functions

    return functions.deduplicate(table, arguments.pop("by"), **arguments)


def _windowed(table: "DataFrame", arguments: dict[str, Any]) -> "DataFrame":
    from streamlog.spark import functions

    return functions.window_aggregate(table, arguments.pop("aggregates"), **arguments)


def _joined(left: "DataFrame", right: "DataFrame", arguments: dict[str, Any]) -> "DataFrame":
    from streamlog.spark import functions

    by, how = arguments["by"], arguments["how"]
    if arguments["within"] is None:
        return functions.join_table(left, right, by, how=how)
    within, time = arguments["within"], arguments["time"]
    return functions.join_streams(left, right, by, within=within, time=time, how=how)


_APPLIED: "dict[str, Callable[..., DataFrame]]" = {
    "deduplicate": _deduplicated,
    "window": _windowed,
    "join": _joined,
}


def _displayed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {each}" for key, each in value.items())
    return ", ".join(value) if isinstance(value, tuple | list) else str(value)
