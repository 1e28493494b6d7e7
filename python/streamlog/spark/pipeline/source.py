"""Sources of a job: topics, files, or a database."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamlog.errors import ConfigError
from streamlog.spark.clients import check_setting
from streamlog.spark.durations import Duration
from streamlog.spark.pipeline.decoding import Decoding
from streamlog.spark.pipeline.section import Section

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamlog.spark.reading.settings import Reading

__all__ = ["Source", "Watermark", "check_settings", "located"]

_FILES = ("csv", "json", "orc", "parquet", "text")
_ENDINGS = {name: name for name in _FILES} | {"jsonl": "json", "ndjson": "json", "txt": "text"}
_OF_TOPICS = ("bootstrap", "start", "end", "group", "headers", "fail_on_data_loss")
_KEYS = {
    "topic": _OF_TOPICS,
    "pattern": _OF_TOPICS,
    "files": ("format", "schema"),
    "jdbc": ("table", "query", "driver"),
}


@dataclass(frozen=True)
class Watermark:
    """The maximal lateness of rows."""

    time: str
    delay: Duration

    @classmethod
    def read(cls, section: Section | None) -> "Watermark | None":
        """Reads a table `watermark`."""
        if section is None:
            return None
        time = section.text("time", "timestamp")
        delay = section.duration("delay", is_needed=True)
        section.end()
        return None if delay is None else cls(time, delay)


@dataclass(frozen=True)
class Source:
    """A table or a stream, named for the steps."""

    name: str
    place: str
    """Its position in the file, for messages."""
    kind: str
    """``topic``, ``pattern``, ``files`` or ``jdbc``."""
    what: tuple[str, ...]
    """Topics, a pattern, paths, or the address of a database."""
    display: tuple[str, ...]
    """``what`` for display; for files and databases, which may have a password, without the values
    of variables."""
    format: str
    options: dict[str, str] = field(default_factory=dict)
    schema: str = ""
    is_stream: bool = False
    decoding: Decoding | None = None
    watermark: Watermark | None = None

    @classmethod
    def read(cls, section: Section, folder: Path, bootstrap: str, is_stream: bool) -> "Source":
        """Reads a table of `source`; paths are relative to the folder."""
        kind = section.kind(_KEYS) or "topic"
        is_static = section.flag("static") or kind == "jdbc"
        decode = section.table("decode")
        reader = {"files": _read_files, "jdbc": _read_jdbc}.get(kind, _read_topics)
        what, word, schema, options = reader(section, kind, folder, bootstrap)
        source = cls(
            name=section.name,
            place=section.place,
            kind=kind,
            what=what,
            display=what if kind in ("topic", "pattern") else section.display(kind, *what),
            format=word,
            options=options | section.settings("options", options),
            schema=schema,
            is_stream=is_stream and not is_static,
            decoding=None if decode is None else Decoding.read(decode, folder),
            watermark=Watermark.read(section.table("watermark")),
        )
        _check(source, section)
        section.end()
        return source

    @property
    def bootstrap(self) -> str | None:
        """The brokers of its topics."""
        return self.options.get("bootstrap")

    @property
    def has_group(self) -> bool:
        """True if its progress is committed."""
        return self.is_stream and any(name.lower() == "group" for name in self.options)

    def for_sink(self, name: str) -> "Source":
        """Returns the same source with a separate group for this sink."""
        options = {
            key: f"{value}.{name}" if key.lower() == "group" else value
            for key, value in self.options.items()
        }
        return replace(self, options=options)

    def check_options(self) -> None:
        """Checks the options of topics before Spark does, whose message would include a stack.

        Raises:
            ConfigError: An option is unknown or invalid.
        """
        if self.format == "streamlog":
            self._reading()

    def check_topics(self) -> None:
        """Checks with the brokers that the topics and partitions exist.

        Raises:
            ConfigError: The start or the end does not name exactly the partitions that are read.
            TopicNotFound: A topic or a partition does not exist.
        """
        if self.format != "streamlog":
            return
        from streamlog.spark.reading.logs import Logs
        from streamlog.spark.reading.positions import check_partitions

        reading = self._reading()
        ends = Logs(reading.connection, reading.subscription).ends().ends
        for point in (reading.start, reading.end):
            if point is not None:
                check_partitions(point, ends)

    def _reading(self) -> "Reading":
        from streamlog.spark.reading.settings import Reading, default_schema

        read = Reading.of_stream if self.is_stream else Reading.of_batch
        return read(self.options, default_schema(self.options))

    def open(self, session: "SparkSession") -> "DataFrame":
        """Returns its rows, not decoded."""
        paths = list(self.what) if self.kind == "files" else []
        if self.is_stream:
            stream = session.readStream.format(self.format).options(**self.options)
            stream = stream.schema(self.schema) if self.schema else stream
            return stream.load(*paths)
        reader = session.read.format(self.format).options(**self.options)
        reader = reader.schema(self.schema) if self.schema else reader
        return reader.load(paths or None)

    def __str__(self) -> str:
        """The summary for a plan."""
        words = {"topic": "topic", "pattern": "topics like", "files": self.format, "jdbc": "JDBC"}
        display = f"{words[self.kind]} {', '.join(self.display)}"
        if self.bootstrap:
            display += f" at {self.bootstrap}"
        start = self.options.get("startingOffsets") or self.options.get("startingTimestamp")
        display += f" from {start}" if start else ""
        return display + (f"; {self.decoding}" if self.decoding else "")


Parts = tuple[tuple[str, ...], str, str, dict[str, str]]


def _read_topics(section: Section, kind: str, folder: Path, bootstrap: str) -> Parts:
    what = section.texts(kind)
    options = {"bootstrap": section.text("bootstrap", bootstrap)}
    options["subscribe" if kind == "topic" else "subscribePattern"] = ",".join(what)
    options |= _place(section, "start", "starting") | _place(section, "end", "ending")
    if group := section.text("group"):
        options["group"] = group
    if section.flag("headers"):
        options["includeHeaders"] = "true"
    if not section.flag("fail_on_data_loss", True):
        options["failOnDataLoss"] = "false"
    return what, "streamlog", "", options


def _place(section: Section, key: str, prefix: str) -> dict[str, str]:
    """Returns the options for a position in topics: a word, offsets, or a time."""
    if not section.has(key):
        return {}
    if isinstance(section.value(key), dict):
        return {f"{prefix}Offsets": json.dumps(section.value(key))}
    place = section.text(key)
    is_offsets = place in ("earliest", "latest") or place.startswith(("group:", "{"))
    return {f"{prefix}{'Offsets' if is_offsets else 'Timestamp'}": place}


def _read_files(section: Section, kind: str, folder: Path, bootstrap: str) -> Parts:
    what = tuple(located(path, folder) for path in section.texts("files"))
    endings = {Path(path).suffix.removeprefix(".") for path in what}
    found = _ENDINGS.get(endings.pop() if len(endings) == 1 else "")
    if found is None and not section.has("format"):
        section.fault(f"'format' is missing, one of {', '.join(_FILES)}: the names do not tell it")
    return what, section.word("format", _FILES, found or "text"), section.text("schema"), {}


def _read_jdbc(section: Section, kind: str, folder: Path, bootstrap: str) -> Parts:
    url = section.text("jdbc")
    options = {"url": url}
    what = section.one_of("table", "query")
    if what is not None:
        options["dbtable" if what == "table" else "query"] = section.text(what)
    if driver := section.text("driver"):
        options["driver"] = driver
    return (url,), "jdbc", "", options


def _check(source: Source, section: Section) -> None:
    if source.kind == "pattern":
        _check_pattern(source, section)
    if source.bootstrap:
        check_settings(section, source.options)
    if source.is_stream and source.kind == "files":
        if len(source.what) > 1:
            section.fault("a stream reads one path; `*` stands for several", "files")
        if not source.schema and source.format != "text":
            section.fault("'schema' is missing: a stream of files does not guess it")
    if source.is_stream and section.has("end"):
        section.fault("a stream has no end", "end")
    if source.kind == "files" and source.format == "text" and source.schema:
        section.fault("lines have one column, value; decode gives it fields", "schema")


def check_settings(section: Section, options: Mapping[str, str]) -> None:
    """Reports settings ``kafka.*`` that the client would refuse later."""
    for name, text in options.items():
        if not name.lower().startswith("kafka."):
            continue
        try:
            check_setting(name, text)
        except ConfigError as error:
            section.page.fault((*section.path, "options", name), str(error))


def _check_pattern(source: Source, section: Section) -> None:
    if len(source.what) > 1:
        section.fault("expected one regular expression; `a|b` stands for several", "pattern")
    for pattern in source.what[:1]:
        try:
            re.compile(pattern)
        except re.error as error:
            section.fault(f"'{pattern}' is no regular expression: {error}", "pattern")


def located(path: str, folder: Path) -> str:
    """Returns a path for Spark; a relative path begins at the folder."""
    if "://" in path or path.startswith(("/", "file:", "hdfs:", "dbfs:")):
        return path
    return os.path.normpath(folder.absolute() / path)
