"""The results put together: medians, ratios within rounds with their intervals, and tables."""

import statistics
from collections.abc import Iterator
from typing import Any

from rounds import Ratio

from study.clients import CLIENTS
from study.peers import PEERS
from study.peers.peer import Mode
from study.plan import SCALES
from study.rows import rows_of
from study.rows.row import Row
from study.runner import Runner

Results = dict[str, Any]
HEADINGS = {
    "per_second": "records/s",
    "p50_us": "p50 µs",
    "p99_us": "p99 µs",
    "p999_us": "p99.9 µs",
    "start_ms": "ms to ready",
    "idle_mib": "idle MiB",
    "used_mib": "MiB after work",
    "wake_ups_per_second": "idle wake-ups/s",
    "cpu_ns": "broker CPU ns/record",
    "overhead_bytes": "bytes on disk/record beyond the value",
    "written_bytes": "bytes written/record while consuming",
}
LOWER_IS_BETTER = ("_us", "_ms", "_mib")


def gather(runner: Runner, machine: dict[str, str], date: str, *, has_ended: bool) -> Results:
    """Returns the results of a study in their JSON form."""
    rows = {row.name for row in runner.rows}
    peers = {peer.name for peer in runner.peers}
    kept = [
        found
        for found in runner.store.all()
        if found.row in rows and found.peer in peers and found.round < runner.scale.rounds
    ]
    measurements = [
        {
            "row": found.row,
            "peer": found.peer,
            "client": found.client,
            "round": found.round,
            "figures": found.figures,
            "series": found.series,
            "error": found.error,
        }
        for found in kept
    ]
    return {
        "scale": runner.scale.as_json(),
        "date": date,
        "machine": machine,
        "partial": not has_ended or any(found.error for found in kept),
        "rounds": len({found.round for found in kept}),
        "versions": {
            peer.name: peer.version() for peer in runner.peers if peer.name not in runner.missing
        },
        "missing": runner.missing,
        "measurements": measurements,
    }


def failures(results: Results) -> list[str]:
    """The measurements of required peers that failed."""
    return [
        f"{found['peer']}, {found['row']}: {found['error']}"
        for found in results["measurements"]
        if found["error"] and PEERS[found["peer"]].is_required
    ]


def markdown(results: Results) -> Iterator[str]:
    """Yields the lines of all tables."""
    scale = SCALES[results["scale"]["name"]]
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    partial = " **Partial: not every measurement was made.**" if results["partial"] else ""
    head = f"Scale `{scale.name}`, {results['rounds']} rounds, {results['date']}"
    yield f"{head}; {machine}.{partial}"
    versions = (f"{PEERS[name].title} {said}" for name, said in results["versions"].items())
    yield ""
    yield f"Versions: {', '.join(versions)}."
    for name, reason in results["missing"].items():
        yield ""
        yield f"Missing: {PEERS[name].title}: {reason}."
    for row in rows_of(scale):
        yield from row_table(row, results)


def row_table(row: Row, results: Results) -> Iterator[str]:
    """Yields the table of a row: a line for each subject."""
    subjects = by_subject(row, results)
    if not subjects:
        return
    names = [name for name in HEADINGS if any(name in first(runs) for runs in subjects.values())]
    yield ""
    yield f"### {row.title}"
    yield ""
    heads = ["peer", "client", "promise", *(HEADINGS[name] for name in names), "streamlog ahead"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for (peer, client), runs in subjects.items():
        cells = [PEERS[peer].title, CLIENTS[client].describe(PEERS[peer])]  # type: ignore[index]
        cells.append(promise(row, peer))
        if not runs:
            cells += ["failed", *[""] * len(names)]
        else:
            cells += [middle(runs, name) for name in names]
            ours = "load" if row.starts_peer else client
            cells.append(ahead(row, subjects.get(("streamlog", ours), {}), runs, peer))
        yield f"| {' | '.join(cells)} |"


def by_subject(row: Row, results: Results) -> dict[tuple[str, str], dict[int, dict[str, float]]]:
    """The figures of each subject of a row by round; none for one that failed."""
    found: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    for measured in results["measurements"]:
        if measured["row"] == row.name:
            runs = found.setdefault((measured["peer"], measured["client"]), {})
            if not measured["error"]:
                runs[measured["round"]] = measured["figures"]
    order = list(PEERS)
    return dict(sorted(found.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))


def first(runs: dict[int, dict[str, float]]) -> dict[str, float]:
    """The figures of any round."""
    return next(iter(runs.values()), {})


def promise(row: Row, peer: str) -> str:
    """The meaning of an acknowledgement in this row."""
    mode: Mode = row.mode
    return PEERS[peer].promises[mode] if row.is_acknowledged else "not acknowledged"


def middle(runs: dict[int, dict[str, float]], name: str) -> str:
    """The median of the rounds, with the lowest and the highest."""
    values = [figures[name] for figures in runs.values() if name in figures]
    if not values:
        return ""
    text = number(statistics.median(values))
    if len(values) > 1:
        text += f" ({number(min(values))}..{number(max(values))})"
    return text


def number(value: float) -> str:
    """Formats a number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ahead(
    row: Row,
    ours: dict[int, dict[str, float]],
    theirs: dict[int, dict[str, float]],
    peer: str,
) -> str:
    """The factor by which streamlog is better, as the ratio within each round."""
    if peer == "streamlog":
        return ""
    ratios = []
    for round_number in ours.keys() & theirs.keys():
        mine, other = ours[round_number][row.figure], theirs[round_number][row.figure]
        lower = row.figure.endswith(LOWER_IS_BETTER)
        ratios.append(other / mine if lower else mine / other)
    if not ratios:
        return ""
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    ratio = Ratio.of(ratios)
    return f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
