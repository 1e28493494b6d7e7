"""The differences from Apache Kafka that are known and wanted, as `differences.toml` has them."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

_NAME = "{name}"
TABLE = Path(__file__).parents[1] / "differences.toml"


@dataclass(frozen=True)
class Known:
    """One difference and its reason.

    `asked` and `field` are patterns in which `*` stands for anything; so are `kafka` and
    `streamlog`, the values it has to have, as a report shows them.
    """

    api: str
    field: str
    reason: str
    asked: str = "*"
    kafka: str = "*"
    streamlog: str = "*"
    name: str = ""
    """The part of `field` that `{name}` stands for."""

    def covers(self, api: str, asked: str, place: tuple[str, object, object]) -> bool:
        """Return true if a difference is this one."""
        field, kafka, streamlog = place
        return self.api == api and all(
            _matches(pattern, text)
            for pattern, text in (
                (self.asked, asked),
                (self.field.replace(_NAME, self.name), field),
                (self.kafka, repr(kafka)),
                (self.streamlog, repr(streamlog)),
            )
        )


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) is not None


def known_differences() -> list[Known]:
    """All of them, in the order of the page; a row with names is one for each name."""
    table = tomllib.loads(TABLE.read_text())
    return [
        Known(**row, name=name)
        for row in table.get("difference", [])
        for name in row.pop("names", [""])
    ]
