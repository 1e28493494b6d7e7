"""Every page of help fits into a narrow terminal."""

import os
import re
import subprocess
from collections.abc import Iterator

from py.support.terminal import drawn, terminal
from py.test_package import SCRIPT

WIDTH = 80
NO_HELP = "help"


def help_page(*words: str) -> str:
    """Returns the output of `--help` on a terminal of 80 columns."""
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(WIDTH)}
    with terminal() as (ours, theirs):
        run = subprocess.run(
            [str(SCRIPT), *words, "--help"], stdout=theirs, env=environment, timeout=20, check=True
        )
        assert run.returncode == 0
        os.close(theirs)
        return drawn(ours).decode().replace("\r\n", "\n")


def pages(*words: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Returns the page of these words, and the pages of all its subcommands."""
    page = help_page(*words)
    yield words, page
    listed = re.search(r"^Commands:\n(.*?)\n\n", page, re.DOTALL | re.MULTILINE)
    for verb in re.findall(r"^  ([\w-]+)", listed[1], re.MULTILINE) if listed else []:
        if verb != NO_HELP:
            yield from pages(*words, verb)


def test_every_page_of_help_fits_into_a_narrow_terminal() -> None:
    found = dict(pages())
    assert len(found) > 30
    for words, page in found.items():
        too_wide = [line for line in page.splitlines() if len(line) > WIDTH]
        assert not too_wide, words
