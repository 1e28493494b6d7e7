"""Sinks of a job: a topic, files, or a database table."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamlog.errors import ConfigError
from streamlog.spark.pipeline.section import Section
from streamlog.spark.pipeline.source import check_settings, located

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter
    from pyspark.sql.types import StructType

    from streamlog.spark.sink.settings import Settings

__all__ = ["Sink"]

_FORMATS = ("parquet", "orc", "json", "csv", "text", "delta", "iceberg")
_OUTPUTS = ("append", "update", "complete")
_MODES = ("append", "overwrite")
_KEYS = {
    "topic": ("bootstrap", "encode", "key", "exactly_once"),
    "files": ("format", "date", "by", "mode"),
    "jdbc": ("table", "driver", "mode"),
}


@dataclass(frozen=True)
class Sink:
    """The destination of the rows of a view."""

    name: str
    place: str
    """Its position in the file, for messages."""
    kind: str
    """``topic``, ``files`` or ``jdbc``."""
    view: str
    where: str
    """The topic, the folder, or the address of the database."""
    display: str
    """``where`` for display; for files and databases, which may have a password, without the values
    of variables."""
    format: str = "streamlog"
    options: dict[str, str] = field(default_factory=dict)
    encode: str = "none"
    key: str | None = None
    date: str | None = None
    by: tuple[str, ...] = ()
    mode: str = "append"
    output: str = "append"
    are_letters: bool = False
    """True if it takes the dead letters of its view."""

    @classmethod
    def read(cls, section: Section, folder: Path, bootstrap: str, is_stream: bool) -> "Sink":
        """Reads a table of `sink`; paths are relative to the folder."""
        kind = section.kind(_KEYS) or "files"
        where = section.text(kind)
        options: dict[str, str] = {}
        if kind == "topic":
            options = {"bootstrap": section.text("bootstrap", bootstrap), "topic": where}
            if section.has("exactly_once"):
                options["exactlyOnce"] = str(section.flag("exactly_once")).lower()
        elif kind == "jdbc":
            options = {"url": where, "dbtable": section.text("table", is_needed=True)}
            if driver := section.text("driver"):
                options["driver"] = driver
        named = {"topic": "streamlog", "jdbc": "jdbc"}
        place = located(where, folder) if kind == "files" else where
        display = where if kind == "topic" else "".join(section.display(kind, place))
        if kind == "jdbc":
            display += f", table {''.join(section.display('table', options['dbtable']))}"
        sink = cls(
            name=section.name,
            place=section.place,
            kind=kind,
            view=section.text("from", is_needed=True),
            where=place,
            display=display,
            format=named.get(kind) or section.word("format", _FORMATS, "parquet"),
            options=options | section.settings("options", (*options, "checkpointLocation")),
            encode=section.word("encode", ("none", "json"), "none"),
            key=section.text("key") or None,
            date=section.text("date") or None,
            by=section.texts("by"),
            mode=section.word("mode", _MODES, "append"),
            output=section.word("output", _OUTPUTS, "append"),
        )
        sink._check(section, is_stream)
        section.end()
        return sink

    def _check(self, section: Section, is_stream: bool) -> None:
        if is_stream and section.has("mode"):
            section.fault("a stream appends", "mode")
        if not is_stream and section.has("output"):
            section.fault("only a stream has one", "output")
        if not is_stream and self.options.get("exactlyOnce") == "true":
            section.fault("for streams only: a table is written once", "exactly_once")
        if self.key is not None and self.encode == "none":
            section.fault('it goes with encode = "json"; else the view has a column key', "key")
        if self.kind == "topic":
            check_settings(section, self.options)
        if self.kind == "files" and self.output != "append":
            section.fault("files are appended to", "output")

    def rows(self, table: "DataFrame") -> "DataFrame":
        """Returns the rows of its view in the form to write."""
        from streamlog.spark import functions

        if self.are_letters:
            return functions.dead_letters(table)
        if self.encode == "json":
            return functions.encode_json(table, key=self.key)
        if self.kind == "topic" and "value" not in table.columns:
            has = ", ".join(table.columns)
            message = f"'{self.view}' has no column 'value', only {has}"
            raise ConfigError(f'{message}; encode = "json" makes one of them')
        return table if self.date is None else functions.with_date(table, self.date)

    def check_options(self) -> None:
        """Checks the options of a topic; the columns are checked when the view exists.

        Raises:
            ConfigError: An option is unknown or invalid.
        """
        if self.kind == "topic":
            self._settings()

    def check_topic(self) -> None:
        """Checks with the brokers that the topic exists, if the sink needs an existing one.

        Raises:
            TopicNotFound: It does not exist.
        """
        if self.kind == "topic":
            from streamlog.spark.sink.target import check_target

            check_target(self._settings())

    def check_columns(self, rows: "DataFrame") -> None:
        """Checks the columns for a topic before any sink of the job is written to.

        Raises:
            ConfigError: A column is unknown or invalid.
        """
        if self.kind == "topic":
            self._settings(rows.schema)

    def _settings(self, schema: "StructType | None" = None) -> "Settings":
        from pyspark.sql.types import StructType

        from streamlog.spark.sink.settings import Settings

        # The checkpoint of a stream is known only when it starts.
        options = self.options | {"checkpointLocation": self.name}
        columns = schema or StructType().add("value", "binary")
        return Settings.of(options, columns, overwrite=self.output == "complete")

    def write(self, rows: "DataFrame") -> None:
        """Writes a table, or a batch of a stream into a database."""
        writer: DataFrameWriter = rows.write.format(self.format).options(**self.options)
        writer = writer.mode(self.mode)
        if self.folders:
            writer = writer.partitionBy(*self.folders)
        if self.kind == "files":
            writer.save(self.where)
        else:
            writer.save()

    @property
    def folders(self) -> tuple[str, ...]:
        """The columns that partition files into folders."""
        return (*(() if self.date is None else ("date",)), *self.by)

    def __str__(self) -> str:
        """The summary for a plan."""
        words = {"topic": "topic", "files": self.format, "jdbc": "JDBC"}
        display = f"{words[self.kind]} {self.display}"
        if self.kind == "topic":
            display += f" at {self.options['bootstrap']}"
        if self.options.get("exactlyOnce") == "true":
            display += ", exactly once"
        return display + (f", by {', '.join(self.folders)}" if self.folders else "")
