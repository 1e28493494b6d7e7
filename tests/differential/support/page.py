"""The part of `docs/compatibility.md` that tells how the answers differ from Apache Kafka's."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from differential.support.differences import Known
from interop.support.records import Json

_MOST_NAMES = 50
COMPARED = Path(__file__).parents[1] / "compared.json"
HEAD = """\
`make differential` sends the same bytes to Apache Kafka {kafka} and to streamlog and compares
the responses field by field: valid and invalid requests for each of the {count} APIs of
streamlog, in every version that both serve. Of ids, ports, paths and the time of day, only
their presence is compared, and the texts of errors may differ. The table lists all other
differences: a difference that is not in it fails the test, and so does a row that is no longer
true. `*` stands for any value, and `{{name}}` for the names after the field.
"""


@dataclass(frozen=True)
class Compared:
    """The release of Apache Kafka and the versions of each API that were compared."""

    kafka: str
    versions: dict[str, str]

    @classmethod
    def read(cls, path: Path = COMPARED) -> Self:
        """The results that the last run has stored."""
        fields = json.loads(path.read_text())
        return cls(fields["kafka"], fields["versions"])

    def write(self, path: Path = COMPARED) -> None:
        """Keeps it for the page."""
        fields: Json = {"kafka": self.kafka, "versions": self.versions}
        path.write_text(json.dumps(fields, indent=1) + "\n")


def section(compared: Compared, table: Sequence[Known]) -> str:
    """The heading, what was compared, and every difference with its reason."""
    apis = [f"{name} {versions}" for name, versions in compared.versions.items()]
    lines = [
        "## Differences from Apache Kafka\n",
        HEAD.format(kafka=compared.kafka, count=len(apis)),
        f"Compared were: {', '.join(apis)}.\n",
        "| API | field | asked | why |\n| --- | --- | --- | --- |",
        *rows(table),
    ]
    return "\n".join(lines) + "\n"


def rows(table: Sequence[Known]) -> Iterator[str]:
    """One row for all differences of an API that have the same reason."""
    grouped: dict[tuple[str, str], list[Known]] = {}
    for known in table:
        grouped.setdefault((known.api, known.reason), []).append(known)
    for (api, reason), group in grouped.items():
        fields = _listed([_field(known, group) for known in group])
        asked = _listed(["always" if known.asked == "*" else known.asked for known in group])
        yield f"| {api} | {fields} | {asked} | {reason} |"


def _field(known: Known, group: Sequence[Known]) -> str:
    """The field with the names that a row lists for it; of very many, their number."""
    if not known.name:
        return f"`{known.field}`"
    names = [f"`{other.name}`" for other in group if replace(other, name=known.name) == known]
    if len(names) > _MOST_NAMES:
        names = [f"{len(names)} names in `tests/differential/differences.toml`"]
    return f"`{known.field}` for {_listed(names)}"


def _listed(words: list[str]) -> str:
    return ", ".join(dict.fromkeys(words))
