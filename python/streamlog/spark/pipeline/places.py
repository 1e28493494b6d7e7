"""The line numbers of the keys in a TOML file.

``tomllib`` parses the values without line numbers, so this module scans the text again. The text
has been parsed successfully before, so nothing is validated here.
"""

import re
import tomllib
from itertools import count

__all__ = ["Path", "places"]

Path = tuple[str | int, ...]
"""The keys on the way to a value; numbers are indexes of arrays."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(
    r"\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|\"(?:\\.|[^\"\\])*\"|'[^']*'", re.S
)
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^,\]}\n#]+")


def places(text: str) -> dict[Path, int]:
    """Returns the line, from 1, of every key and element; of a table, the line that names it first.

    Args:
        text: Valid TOML.
    """
    return _Scan(text).document()


class _Scan:
    """A position in the text, and the lines found so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[Path, int] = {}
        self._elements: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_GAP)
        while self._at < len(self._text):
            if self._takes("[["):
                table = self._keys((), is_element=True)
                self._takes("]]")
            elif self._takes("["):
                table = self._keys(())
                self._takes("]")
            else:
                self._pair(table)
            self._skip(_GAP)
        return self._lines

    def _pair(self, table: Path) -> None:
        path = self._keys(table)
        self._takes("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        if self._takes("["):
            for index in count():
                self._skip(_GAP)
                if self._takes("]"):
                    return
                self._lines[(*path, index)] = self._line()
                self._value((*path, index))
                self._skip(_GAP)
                self._takes(",")
        elif self._takes("{"):
            while not self._closes("}"):
                self._pair(path)
                self._skip(_GAP)
                self._takes(",")
        else:
            quoted = _QUOTED.match(self._text, self._at)
            self._skip(_PLAIN if quoted is None else _QUOTED)

    def _keys(self, path: Path, is_element: bool = False) -> Path:
        """Reads a dotted key below a path, and records the line of each of its parts."""
        while True:
            self._skip(_SPACE)
            line = self._line()
            path = (*path, self._key())
            self._lines.setdefault(path, line)
            is_last = not self._takes(".")
            if is_last and is_element:
                self._elements[path] = self._elements.get(path, 0) + 1
            if path in self._elements:
                # Keys below an array of tables belong to its last element.
                path = (*path, self._elements[path] - 1)
                self._lines.setdefault(path, line)
            if is_last:
                return path

    def _key(self) -> str:
        quoted = _QUOTED.match(self._text, self._at)
        if quoted is None:
            return self._skip(_BARE)
        self._at = quoted.end()
        return str(tomllib.loads(f"key = {quoted[0]}")["key"])

    def _closes(self, mark: str) -> bool:
        self._skip(_GAP)
        return self._takes(mark)

    def _takes(self, mark: str) -> bool:
        self._skip(_SPACE)
        is_there = self._text.startswith(mark, self._at)
        self._at += len(mark) if is_there else 0
        return is_there

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None, f"{pattern.pattern} at {self._at}"
        self._at = found.end()
        return found[0]

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1
