"""The decoding of a column in a job, and its dead letters."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from streamlog.spark.pipeline.section import Section

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Decoding"]

FORMATS = ("json", "csv", "avro")
FRAMINGS = ("none", "confluent")


@dataclass(frozen=True)
class Decoding:
    """Decoding of a binary column into a struct."""

    format: str
    schema: str
    column: str = "value"
    framing: str = "none"
    separator: str = ","
    dead_letters: str | None = None
    """The topic for records that do not decode; without it they end the job."""

    @classmethod
    def read(cls, section: Section, folder: Path) -> "Decoding":
        """Reads a table `decode`."""
        file = section.has("schema", "schema_file") == ["schema_file"]
        decoding = cls(
            format=section.word("format", FORMATS, "json"),
            schema=_text_of(section, folder) if file else section.text("schema", is_needed=True),
            column=section.text("column", "value"),
            framing=section.word("framing", FRAMINGS, "none"),
            separator=section.text("separator", ","),
            dead_letters=section.text("dead_letters") or None,
        )
        if decoding.framing != "none" and decoding.format != "avro":
            section.fault("only Avro is framed", "framing")
        if "separator" in section.has("separator") and decoding.format != "csv":
            section.fault("only CSV has one", "separator")
        section.end()
        return decoding

    def of(self, table: "DataFrame") -> "DataFrame":
        """Returns all rows of the table, with the column ``undecoded``."""
        from streamlog.spark import functions

        if self.format == "csv":
            return functions.decode_csv(
                table, self.schema, column=self.column, separator=self.separator
            )
        if self.format == "avro":
            framing = cast(Literal["none", "confluent"], self.framing)
            return functions.decode_avro(table, self.schema, column=self.column, framing=framing)
        return functions.decode_json(table, self.schema, column=self.column)

    def __str__(self) -> str:
        """The summary for a plan."""
        rest = f"else to {self.dead_letters}" if self.dead_letters else "or it ends"
        return f"decoded as {self.format}, {rest}"


def _text_of(section: Section, folder: Path) -> str:
    path = folder / section.text("schema_file")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        section.fault(f"{path} cannot be read: {error}", "schema_file")
        return ""
