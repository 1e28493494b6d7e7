"""Runs all measurements of a broker and its clients, each with its gate: `make bench`.

Rates are ratios to the baseline in the same run, because absolute figures drift with time. A missed
gate is shown in the table, and makes the exit code 1 only on request.

    python bench/suite.py --rounds 9 --realtime --json figures.json
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, table
from sections import (
    clients,
    commands,
    growth,
    instructions,
    lifecycle,
    reading,
    replication,
    scale,
    scrubbing,
    throughput,
)
from servers import BUILT, REALTIME, Place

Section = Callable[[argparse.Namespace, Place], Iterator[Figure]]

SECTIONS: dict[str, Section] = {
    "throughput": lambda options, place: throughput.rows(options.rounds, place),
    "instructions": lambda options, place: instructions.rows(options.rounds, place),
    "lifecycle": lambda options, place: lifecycle.rows(options.rounds, place),
    "growth": lambda options, place: growth.rows(options.rounds, options.log_gib, place),
    "commands": lambda options, place: commands.rows(options.rounds, options.log_gib, place),
    "scrubbing": lambda options, place: scrubbing.rows(options.rounds, place),
    "reading": lambda options, place: reading.rows(options.rounds, place),
    "scale": lambda options, place: scale.rows(place),
    "descriptors": lambda options, place: scale.few_descriptors(
        options.rounds, options.partitions, place
    ),
    "replication": lambda options, place: replication.rows(options.rounds, options.records, place),
    "clients": lambda options, place: clients.rows(options.rounds, options.records, place),
}


def main() -> int:
    """Measures, prints the table, and writes the JSON file."""
    options = arguments()
    place = Place(options.data, REALTIME if options.realtime else ())
    figures: list[Figure] = []
    for name in options.section or SECTIONS:
        for figure in SECTIONS[name](options, place):
            verdict = f" {figure.verdict}" if figure.verdict else ""
            print(f"{figure.row}: {figure.name} {figure.value:.3g}{verdict}", file=sys.stderr)
            figures.append(figure)
    print(*table(figures), sep="\n")
    if options.json is not None:
        listed = [figure.as_json() for figure in figures]
        options.json.write_text(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")
    missed = sum(figure.verdict == "NOT MET" for figure in figures)
    gated = sum(figure.gate is not None for figure in figures)
    print(f"\n{gated - missed} of {gated} gates met")
    return 1 if missed and options.strict else 0


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        prog="python bench/suite.py", description="Every row with its gate."
    )
    parser.add_argument("section", nargs="*", help=f"of {', '.join(SECTIONS)}; all when left out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--realtime", action="store_true", help="before all other processes")
    parser.add_argument("--data", type=Path, default=BUILT, help="on the disk to be measured")
    parser.add_argument("--log-gib", type=float, default=2, help="size of the large log; 20 aimed")
    parser.add_argument("--partitions", type=int, default=10_000, help="of the row of descriptors")
    parser.add_argument("--records", type=int, default=1_000_000, help="of each client's round")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--strict", action="store_true", help="1 when a gate is not met")
    options = parser.parse_args()
    unknown = set(options.section) - SECTIONS.keys()
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
