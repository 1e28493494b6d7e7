"""`docs/compatibility.md`, made of the recorded results: `python -m interop.support.page`."""

from collections.abc import Iterator, Sequence

from differential.support.differences import known_differences
from differential.support.page import Compared, section
from interop.support.clients import APACHE, INTEROP, Client, all_clients
from interop.support.features import ACKS, CODECS, FAILOVER, FEATURES, reading
from interop.support.framings import FRAMINGS, STORED
from interop.support.results import WORKS, Results
from interop.support.tools import all_tools, apache_version, tool_faults, tool_rows

PAGE = INTEROP.parents[1] / "docs" / "compatibility.md"
HEAD = """\
# Compatibility

The clients that are tested with streamlog, and the features that work with each. `make
compatibility` generates this page from the results of `tests/interop`, which runs each client,
unchanged and in a process of its own, against a broker process. `make interop` runs the same
tests. *Yes* means that the feature works, *no* that the client does not have it; if the client
has a part of it, the cell names the part. The reasons are below. Any other result fails the
tests.
"""
TOOLS = """\
## Apache Kafka's own tools, Connect and Streams

Version {version}, unchanged, as they come from Maven Central.
"""
YES = "yes"
NO = "no"

Cells = dict[str, dict[str, str]]


def expected_cells(client: Client, clients: Sequence[Client]) -> set[str]:
    """The cells that a client's results must have."""
    reads = {
        reading(writer.name, codec)
        for writer in clients
        for codec in CODECS
        if writer.limit(f"produce {codec} acks=all") is None
    }
    framings = {framing.cell for framing in STORED}
    return {*FEATURES, *reads, *framings, FAILOVER}


def faults(clients: Sequence[Client], results: dict[str, Results]) -> Iterator[str]:
    """The reasons why the results cannot go on the page."""
    for client in clients:
        result = results[client.name]
        if result.version != client.version:
            yield f"{client.name}: results of version {result.version}, not {client.version}"
        expected = expected_cells(client, clients)
        if missing := expected - result.cells.keys():
            yield f"{client.name}: no results for {sorted(missing)[:5]}"
        if old := result.cells.keys() - expected:
            yield f"{client.name}: results for {sorted(old)[:5]}, which nobody asks for"
        for cell, outcome in result.cells.items():
            if outcome != (client.limit(cell) or WORKS):
                yield f"{client.name}: '{cell}' came out as '{outcome}'"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _some(works: Sequence[bool], names: Sequence[str]) -> str:
    """Yes, no, or the names of what works."""
    if all(works):
        return YES
    return ", ".join(name for name, does in zip(names, works, strict=True) if does) or NO


def client_rows(clients: Sequence[Client]) -> Iterator[list[str]]:
    """One row for each client."""
    for client in clients:
        yield [client.name, client.version, client.about]


def feature_rows(clients: Sequence[Client], cells: Cells) -> Iterator[list[str]]:
    """One row for each feature; a codec with all its acks is one."""
    for feature, title in FEATURES.items():
        if not feature.startswith("produce "):
            outcomes = [cells[client.name][feature] == WORKS for client in clients]
            yield [title, *(YES if works else NO for works in outcomes)]
        elif feature.endswith(f"acks={ACKS[0]}"):
            codec = feature.split()[1]
            yield [f"produce: {codec}", *(_acks(cells[c.name], codec) for c in clients)]


def _acks(cells: dict[str, str], codec: str) -> str:
    works = [cells[f"produce {codec} acks={acks}"] == WORKS for acks in ACKS]
    return _some(works, [f"acks={acks}" for acks in ACKS])


def failover_rows(clients: Sequence[Client], cells: Cells) -> Iterator[list[str]]:
    """One row for each client."""
    for client in clients:
        works = YES if cells[client.name][FAILOVER] == WORKS else NO
        yield [client.name, works, client.patience or "its defaults"]


def cross_rows(clients: Sequence[Client], cells: Cells) -> Iterator[list[str]]:
    """One row for each writer, one column for each reader."""
    for writer in clients:
        codecs = [codec for codec in CODECS if reading(writer.name, codec) in cells[writer.name]]
        works = (
            [cells[reader.name][reading(writer.name, codec)] == WORKS for codec in codecs]
            for reader in clients
        )
        yield [writer.name, *(_some(row, codecs) for row in works)]


def framing_rows(clients: Sequence[Client], cells: Cells) -> Iterator[list[str]]:
    """One row for each framing; one that is refused has no columns of clients."""
    for framing in FRAMINGS:
        works = (cells[client.name].get(framing.cell) == WORKS for client in clients)
        outcomes = [YES if does else NO for does in works]
        told = outcomes if framing.is_stored else ["refused", *[""] * (len(clients) - 1)]
        yield [framing.codec, framing.name, *told]


def reasons(clients: Sequence[Client], cells: Cells) -> Iterator[str]:
    """The reasons for unsupported features, by client."""
    for client in clients:
        limited: dict[str, list[str]] = {}
        for cell, outcome in cells[client.name].items():
            if outcome != WORKS:
                limited.setdefault(outcome, []).append(cell)
        for reason in dict.fromkeys(client.limits.values()):
            patterns = [p for p, why in client.limits.items() if why == reason]
            assert limited[reason], f"{client.name} has no cell for '{reason}'"
            names = ", ".join(dict.fromkeys(_titled(pattern) for pattern in patterns))
            yield f"- **{client.name}**, {names}: {reason}\n"


def _titled(pattern: str) -> str:
    """A pattern of cells in words."""
    return FEATURES.get(pattern, " ".join(pattern.replace("*", " ").split())).removeprefix(
        "error: "
    )


def tools_section(results: Results) -> str:
    """The operations tried with Apache's tools, with their results."""
    rows = list(tool_rows(all_tools(), results.cells))
    head = TOOLS.format(version=results.version)
    return "\n".join([head, table(["tool", "what was tried", "works"], rows)])


def render(clients: Sequence[Client], results: dict[str, Results]) -> str:
    """The part of the page about clients."""
    cells = {name: result.cells for name, result in results.items()}
    names = [client.name for client in clients]
    return "\n".join(
        [
            HEAD,
            "## Clients\n",
            table(["client", "version", "what it is"], list(client_rows(clients))),
            "## Features\n",
            table(["", *names], list(feature_rows(clients, cells))),
            "## Three brokers, of which one is killed\n",
            "A client writes to a partition with three replicas while its leader is killed, is",
            "started and leads again. It reports no error, and reads back in order what was",
            "acknowledged. A client whose defaults do not outlast an election is tried with",
            "settings that do.\n",
            table(["client", "works", "settings for retries"], list(failover_rows(clients, cells))),
            "## What one writes, the other reads\n",
            "By row who writes, by column who reads: *yes* means byte for byte, with every codec",
            f"that the writer has ({', '.join(CODECS)}); else the codecs that work are named.\n",
            table(["", *names], list(cross_rows(clients, cells))),
            "## Forms of a compressed stream\n",
            "A codec's format allows several forms of a stream. Those that some client cannot read",
            "are refused with INVALID_RECORD, unless the topic's `compression.type` is another",
            "codec. Every other form is stored as it was sent. kafkajs brings gzip only: the other",
            "codecs are plug-ins, which are not tried here.\n",
            table(["codec", "form", *names], list(framing_rows(clients, cells))),
            "## What does not work, and why\n",
            "".join(reasons(clients, cells)),
            section(Compared.read(), known_differences()),
        ]
    )


def page() -> str:
    """The page of all recorded results.

    Raises:
        ValueError: They are not complete.
    """
    clients = all_clients()
    results = {client.name: Results.read(client.name, client.version) for client in clients}
    tools = Results.read(APACHE, apache_version())
    if found := [*faults(clients, results), *tool_faults(all_tools(), tools)]:
        raise ValueError("\n".join(found))
    return render(clients, results) + "\n" + tools_section(tools)


if __name__ == "__main__":
    PAGE.write_text(page())
