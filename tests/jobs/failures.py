"""The failed tests that a log names, with their output, in the forms of libtest and pytest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

SHOWN: Final = 60
"""The number of lines of a failure that are shown."""
_RUST_NAMES = re.compile(r"^failures:\n((?:    \S.*\n)+)", re.MULTILINE)
_RUST_OUTPUT = re.compile(r"^---- (.+?) stdout ----\n(.*?)(?=^---- |^failures:$)", re.M | re.S)
_RUST_SLOW = re.compile(r"^test (\S+) has been running for over", re.MULTILINE)
_RUST_SUM = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_PYTHON_NAME = re.compile(
    r"^(?:FAILED|ERROR) (\S+\.py(?:::[^\[\n]+?(?:\[.*?\](?= - |$))?)?)(?: - .*)?$", re.MULTILINE
)
_PYTHON_OUTPUT = re.compile(
    r"^_+ (?:ERROR (?:at \w+ of|collecting) )?(.+?) _+\n(.*?)(?=^_+ .+ _+$|^=+ )", re.M | re.S
)
_PYTHON_SUM = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", re.MULTILINE)
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_CUT_SHORT = re.compile(r"^!{3,} |^INTERNALERROR", re.MULTILINE)
_SEED = re.compile(r"STREAMLOG_(?:FIRST_)?SEED=\d+")


@dataclass(frozen=True)
class Failure:
    """A failed test, or with an empty name a failure for which no single test accounts."""

    test: str
    """The name under which the test can be run alone."""
    output: str
    """The output of the test."""

    @property
    def last_lines(self) -> str:
        """The last lines of what it printed."""
        return "\n".join(self.output.rstrip().splitlines()[-SHOWN:])

    @property
    def reason(self) -> str:
        """The line that says why it failed, as far as it can be told from the others."""
        lines = [line for line in self.output.splitlines() if line.strip()]
        for line, next_line in pairwise([*lines, ""]):
            if line.startswith("E   "):
                return line[1:].strip()
            if " panicked at " in line:
                return next_line.strip()
        return lines[-1].strip() if lines else ""

    @property
    def seed(self) -> str:
        """The assignment that repeats the same random choices, if the test has printed it."""
        seeds = _SEED.findall(self.output)
        return seeds[-1] if seeds else ""


def failures(log: str) -> list[Failure]:
    """Returns the failed tests that the log of a job names, each once."""
    outputs = dict(_RUST_OUTPUT.findall(log))
    names = [line.strip() for found in _RUST_NAMES.findall(log) for line in found.splitlines()]
    found = {name: outputs.get(name, log) for name in names}
    found |= {name: _output(log, name) for name in _PYTHON_NAME.findall(log)}
    found |= {name: log for name in _RUST_SLOW.findall(log) if f"test {name} ... " not in log}
    return [Failure(name, output) for name, output in found.items()]


def account_for_all(found: list[Failure], log: str) -> bool:
    """Returns true if nothing has failed but these tests, and nothing was left out."""
    failed = sum(failed for _, failed in _sums(log))
    is_named = all("::" in failure.test or " " not in failure.test for failure in found)
    return failed == len(found) > 0 and is_named and not _CUT_SHORT.search(log)


def passes(log: str) -> int:
    """Returns how many tests have passed, by the closing lines of their runners."""
    return sum(passed for passed, _ in _sums(log))


def _sums(log: str) -> Iterator[tuple[int, int]]:
    for passed, failed in _RUST_SUM.findall(log):
        yield int(passed), int(failed)
    for line in _PYTHON_SUM.findall(log):
        counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(line)}
        yield counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)


def _output(log: str, name: str) -> str:
    """The output of a test in Python; tests of several files may have the same name."""
    path, _, rest = name.partition("::")
    function, bracket, case = rest.partition("[")
    title = (function.replace("::", ".") + bracket + case) or path
    texts = [text for header, text in _PYTHON_OUTPUT.findall(log) if header == title]
    return next((text for text in texts if f"{path}:" in text), texts[0] if texts else log)
