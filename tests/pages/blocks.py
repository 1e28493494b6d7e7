"""The fenced blocks of a page, with directives in comments that readers do not see.

    <!-- setup: ... -->        hidden Python code that runs at this point
    <!-- not run: REASON -->   the next block is not run

An `output` block is the expected output of the Python block before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]

_SETUP = "<!-- setup:"
_EXCUSE = "<!-- not run:"


@dataclass(frozen=True)
class Block:
    """A fenced block, or hidden code."""

    page: str
    """The path of its page, relative to the repository."""
    line: int
    """The line of the page on which its text begins."""
    language: str
    text: str
    output: str | None = None
    """The expected output."""
    excuse: str | None = None
    """The reason why it is not run."""

    @property
    def place(self) -> str:
        """The position for messages."""
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Returns all pages with blocks, the README first."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *found]


def blocks(page: str) -> list[Block]:
    """Returns the blocks of a page in order, outputs merged into the blocks that print them."""
    return blocks_of(page, (ROOT / page).read_text())


def blocks_of(page: str, text: str) -> list[Block]:
    """Returns the blocks of a page with this text."""
    found: list[Block] = []
    for block in _blocks(page, MarkdownIt("commonmark").parse(text)):
        if block.language != "output":
            found.append(block)
        elif not found or found[-1].language != "python" or found[-1].output is not None:
            raise ValueError(f"{block.place}: nothing before it prints this")
        else:
            found[-1] = replace(found[-1], output=block.text)
    return found


def _blocks(page: str, tokens: list[Token]) -> Iterator[Block]:
    excuse: str | None = None
    for token in tokens:
        if token.type == "fence":
            assert token.map is not None
            language = token.info.split(" ")[0]
            yield Block(page, token.map[0] + 2, language, token.content, excuse=excuse)
            excuse = None
        elif token.type == "html_block":
            assert token.map is not None
            comment = token.content.strip().removesuffix("-->").strip()
            if comment.startswith(_EXCUSE):
                excuse = comment.removeprefix(_EXCUSE).strip()
            elif comment.startswith(_SETUP):
                code = comment.removeprefix(_SETUP).lstrip("\n")
                yield Block(page, token.map[0] + 2, "python", code)
