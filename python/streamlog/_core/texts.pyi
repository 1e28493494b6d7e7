"""Parsers of values in options and job files.

Not for programs: it may change with every version.
"""

__all__ = ["interval", "key_lines", "size"]

def interval(text: str) -> tuple[int, str] | None:
    """A time with its units, in microseconds and in the syntax of SQL; None if it is not a time.

    A day has 24 hours; months and years are not accepted.
    """

def key_lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line, from 1, of every key and every array element of a TOML text.

    Each has the path that leads there: keys of tables, and positions in arrays.

    Raises:
        ConfigError: The text is not TOML.
    """

def size(text: str) -> int | None:
    """A number of bytes, with an optional unit (powers of 1024); None if it is not a size."""
