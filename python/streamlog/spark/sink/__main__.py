"""Administration of queries with exactlyOnce: ``python -m streamlog.spark.sink list``."""

import argparse
import sys
from collections.abc import Iterable

import streamlog
from streamlog.errors import StreamlogError
from streamlog.spark.options import default_bootstrap
from streamlog.spark.sink.exactly.leftovers import Leftovers, find, remove


def main(words: list[str] | None = None) -> int:
    """Lists or removes topics; returns 1 after an error, printed with its reason."""
    given = _arguments().parse_args(words)
    try:
        with streamlog.connect(given.bootstrap or default_bootstrap()) as client:
            if given.verb == "list":
                print("\n".join(_table(find(client))))
                return 0
            return _remove(client, given.query, given.force)
    except StreamlogError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _remove(client: streamlog.Client, queries: Iterable[str], is_forced: bool) -> int:
    code = 0
    for query in queries:
        try:
            removed = remove(client, query, is_forced=is_forced)
        except StreamlogError as error:
            print(f"error: {error}", file=sys.stderr)
            code = 1
        else:
            print(f"{query}: removed {len(removed.staged)} staging topics and the commit log")
    return code


def _table(found: list[Leftovers]) -> list[str]:
    rows = [("QUERY", "COMMITTED", "BATCH", "PUBLISHED", "STAGED", "TARGETS")]
    rows += [_row(each) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ((cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


def _row(found: Leftovers) -> tuple[str, str, str, str, str, str]:
    batch = "none" if found.last is None else str(found.last.batch)
    time = "never" if found.committed is None else f"{found.committed:%Y-%m-%dT%H:%M:%SZ}"
    published = "yes" if found.is_published else "perhaps not"
    targets = ", ".join(found.targets) or "none"
    return found.query, time, batch, published, f"{found.staged_records:,}", targets


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m streamlog.spark.sink",
        description="Lists and removes the topics that queries with exactlyOnce keep.",
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="default: STREAMLOG_BOOTSTRAP")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="all queries that have such topics")
    words = verbs.add_parser("remove", help="the topics of queries that are given up")
    words.add_argument("query", nargs="+", help="the id, from the checkpoint's file metadata")
    words.add_argument(
        "--force", action="store_true", help="even if a batch is unfinished or was just committed"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
