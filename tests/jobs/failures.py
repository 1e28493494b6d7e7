"""The failed tests that a log names, with their output, in the forms of libtest and pytest."""

import re
from dataclasses import dataclass
from typing import Final

SHOWN: Final = 60
"""The number of lines of a failure that are shown."""
_RUST_NAMES = re.compile(r"^failures:\n((?:    \S.*\n)+)", re.MULTILINE)
_RUST_OUTPUT = re.compile(
    r"^---- (\S+)(?: - .*)? stdout ----\n(.*?)(?=^---- |^failures:$)", re.M | re.S
)
_PYTHON_NAME = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)
_PYTHON_OUTPUT = re.compile(
    r"^_{3,} (?:ERROR \w+ \w+ of )?(\S+) _{3,}\n(.*?)(?=^_{3,} |^=+ )", re.M | re.S
)
_RUST_SUM = re.compile(r"^test result: \w+\. (\d+) passed;", re.MULTILINE)
_PYTHON_SUM = re.compile(r"^=* ?(?:\d+ failed, )?(\d+) passed\b.* in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True)
class Failure:
    """A failed test."""

    test: str
    """The name under which the test can be run alone."""
    output: str
    """The last lines of what it printed."""


def failures(log: str) -> list[Failure]:
    """Returns the failed tests that the log of a job names, each once."""
    outputs = dict(_RUST_OUTPUT.findall(log))
    names = [line.strip() for found in _RUST_NAMES.findall(log) for line in found.splitlines()]
    found = {name: outputs.get(name, log) for name in names}
    outputs = dict(_PYTHON_OUTPUT.findall(log))
    for name in _PYTHON_NAME.findall(log):
        found[name] = outputs.get(".".join(name.split("::")[1:]), log)
    return [Failure(name, last_lines(output)) for name, output in found.items()]


def last_lines(text: str) -> str:
    """The last lines of a text."""
    return "\n".join(text.rstrip().splitlines()[-SHOWN:])


def passes(log: str) -> int:
    """Returns how many tests have passed, by the closing lines of their runners."""
    rust = map(int, _RUST_SUM.findall(log))
    return sum(rust) + sum(map(int, _PYTHON_SUM.findall(log)))
