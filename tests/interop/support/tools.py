"""Apache Kafka's own tools, as `tools.toml` has them, and the cells that their tests fill."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from interop.support.clients import APACHE, INTEROP
from interop.support.results import WORKS, Results

POM = INTEROP / "drivers" / APACHE / "pom.xml"


@dataclass(frozen=True)
class Tool:
    """A tool, what is tried with it, and which of that is refused for what reason."""

    name: str
    main: str
    tried: Mapping[str, str]
    limits: Mapping[str, str] = field(default_factory=dict)

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """The result of each cell if its test passes."""
        for cell in self.tried:
            yield f"{self.name}: {cell}", self.limits.get(cell, WORKS)


def all_tools() -> list[Tool]:
    """Every tool, in the order of the page."""
    table = tomllib.loads((INTEROP / "tools.toml").read_text())
    return [Tool(name, **row) for name, row in table.items()]


def expected(tools: list[Tool]) -> dict[str, str]:
    """The results of a run without failures."""
    return {cell: outcome for tool in tools for cell, outcome in tool.outcomes()}


def apache_version() -> str:
    """The version of the tools: what the pom asks for."""
    found = re.search(r"<kafka\.version>(.+?)</kafka\.version>", POM.read_text())
    assert found, f"no version in {POM}"
    return found[1]


def tool_faults(tools: list[Tool], results: Results) -> Iterator[str]:
    """The reasons why the results cannot go on the page."""
    if results.version != apache_version():
        yield f"tools: results of version {results.version}, not {apache_version()}"
    if strange := results.cells.items() ^ expected(tools).items():
        yield f"tools: results and tools.toml differ in {sorted(strange)[:5]}"
    for tool in tools:
        if unknown := tool.limits.keys() - tool.tried.keys():
            yield f"tools: {tool.name} is limited in {sorted(unknown)}, which nobody tries"


def tool_rows(tools: list[Tool], cells: Mapping[str, str]) -> Iterator[list[str]]:
    """One row for each cell."""
    for tool in tools:
        for cell, title in tool.tried.items():
            outcome = cells[f"{tool.name}: {cell}"]
            yield [tool.name, title, "yes" if outcome == WORKS else f"no: {outcome}"]
