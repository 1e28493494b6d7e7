"""Lines that tell how far the tests are, while `make` holds back their output."""

import os

import pytest

_EVERY = 10
"""The number of tests after which a line is written."""


class Progress:
    """A plugin that writes to a descriptor which `make` does not hold back."""

    def __init__(self, part: str, descriptor: int) -> None:
        """Takes the name of these tests among others that run at the same time."""
        self._part, self._descriptor = part, descriptor
        self._done = self._total = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Notes the number of tests."""
        self._total = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reports a failure at once."""
        if report.failed:
            self._write(f"{report.nodeid} failed")

    def pytest_runtest_logfinish(self) -> None:
        """Counts a test."""
        self._done += 1
        if self._done % _EVERY == 0 or self._done == self._total:
            self._write(f"{self._done} of {self._total} tests")

    def _write(self, words: str) -> None:
        os.write(self._descriptor, f"Spark, {self._part}: {words}\n".encode())
