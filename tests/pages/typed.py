"""Writes the Python code of each page as a module with the same line numbers, for type checkers.

python -m pages.typed FOLDER
"""

import shutil
import sys
from pathlib import Path

from pages.blocks import blocks, pages


def module(page: str) -> str:
    """Returns the Python code of a page; all other lines are empty."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python" and block.excuse is None:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.splitlines()
    return "".join(f"{line}\n" for line in lines)


def main(folder: Path) -> None:
    """Writes all modules, and removes other files from the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in pages():
        text = module(page)
        if text:
            name = page.removesuffix(".md").replace("/", "_").replace("-", "_").lower()
            (folder / f"{name}.py").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
