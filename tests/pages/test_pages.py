"""Every page runs from its first block to its last."""

import shutil
from pathlib import Path

import pytest

from pages.blocks import ROOT, Block, blocks, blocks_of, pages
from pages.session import Session

RUN = ("console", "properties", "python", "toml")
"""Languages whose blocks are run, or compared with the programs that read them."""
SHOWN = ("ini", "text")
"""Languages whose blocks are only shown."""
EXCUSES_AT_MOST = 3


QUICK_START = "docs/quick-start.md"
ON_SPARK = "docs/spark/"
"""Pages that are run with the tests on Spark."""


def to_run(page: str) -> list[Block]:
    """Returns the blocks of a page that can be run."""
    return [block for block in blocks(page) if block.language in RUN and block.excuse is None]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "page",
    [page for page in pages() if to_run(page) and not page.startswith((QUICK_START, ON_SPARK))],
)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    Session(tmp_path, to_run(page)).follow()


@pytest.mark.timeout(120)
def test_a_new_user_gets_along_with_the_wheel_and_the_page_alone(tmp_path: Path) -> None:
    (tmp_path / "streamlog-data").mkdir()
    shutil.copytree(ROOT / "target" / "wheels", tmp_path / "target" / "wheels")
    programs = tmp_path / "venv" / "bin"
    assert not programs.exists()
    Session(tmp_path, to_run(QUICK_START), programs).follow()
    assert (programs / "streamlog").exists()


def test_every_block_says_what_it_is() -> None:
    known = {*RUN, *SHOWN}
    strange = [
        f"{block.place}: '{block.language}'"
        for page in pages()
        for block in blocks(page)
        if block.language not in known and not block.language.startswith("{")
    ]
    assert strange == []


def test_few_blocks_are_excused_and_each_says_why() -> None:
    excused = [block for page in pages() for block in blocks(page) if block.excuse is not None]
    assert all(len(block.excuse or "") > 10 for block in excused)
    assert len(excused) <= EXCUSES_AT_MOST, [block.place for block in excused]


def follow_text(text: str, folder: Path) -> None:
    """Runs a page with this text."""
    Session(folder, blocks_of("page.md", text)).follow()


def test_a_wrong_output_on_a_page_is_found(tmp_path: Path) -> None:
    python = "```python\nprint(1 + 1)\n```\n\n```output\n3\n```\n"
    console = "```console\n$ echo two\nthree\n```\n"
    failing = "```console\n$ streamlog topic describe none\n```\n"
    for number, text in enumerate([python, console, failing]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(AssertionError, match=r"said to print|exit code 5"):
            follow_text(text, folder)


def test_a_setting_that_no_broker_takes_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"num\.partition"):
        follow_text('```toml\n"num.partition" = 3\n```\n', tmp_path)


def test_a_loop_without_end_is_ended_when_nothing_comes_any_more(tmp_path: Path) -> None:
    text = """
```python
import streamlog

client = streamlog.connect("localhost:9092")
with client.producer() as producer:
    producer.send("orders", b"first")
with client.consumer("orders") as consumer:
    for message in consumer:
        print(message.value)
```

```output
b'first'
```
"""
    follow_text(text, tmp_path)
