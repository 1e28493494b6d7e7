"""The input: text files of this machine, copied so that they do not change meanwhile."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LOGS = [Path("/var/log")]
DOCUMENTS = [
    Path(folder)
    for folder in (
        "/usr/share/doc",
        "/usr/share/common-licenses",
        "/usr/share/licenses",
        "/usr/local/share/doc",
    )
]

# The rest is left out, with a message.
SIZE_MAX = 64 * 2**20
# With fewer lines, the logs of a machine are as good as empty.
LOG_LINES_MIN = 100
# A longer line becomes several records.
LINE_MAX = 256 * 2**10


@dataclass(frozen=True)
class Input:
    """The files to publish, each with the name that becomes its records' key."""

    files: dict[str, Path]
    records: int
    size: int
    left_out: int

    def lines(self, name: str) -> Iterator[bytes]:
        """Yields the lines of a file without their ends."""
        yield from read_lines(self.files[name])

    def describe(self) -> str:
        """Describes the input."""
        text = f"{len(self.files):,} files, {self.records:,} lines, {mebibytes(self.size)}"
        if self.left_out:
            text += f"; {self.left_out:,} more files left out, beyond {mebibytes(SIZE_MAX)}"
        return text


def find(named: list[Path], folder: Path) -> Input:
    """Returns the named files, else the logs, else the documentation, copied into `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "input").mkdir(parents=True)
    if named:
        return copy(named, folder / "input") or fail(f"no text in {[str(path) for path in named]}")
    found = copy(LOGS, folder / "input")
    if found and found.records >= LOG_LINES_MIN:
        return found
    return copy(DOCUMENTS, folder / "input") or fail("no text found: name some with INPUT=...")


def fail(reason: str) -> Input:
    """Ends the demonstration."""
    raise SystemExit(reason)


def copy(places: list[Path], folder: Path) -> Input | None:
    """Copies the text files in `places`, up to the limit; None if there is none."""
    files: dict[str, Path] = {}
    size = records = left_out = 0
    for path in text_files(places):
        length = path.stat().st_size
        if size + length > SIZE_MAX:
            left_out += 1
            continue
        target = folder / f"{len(files):05}"
        shutil.copyfile(path, target)
        files[str(path)] = target
        size += target.stat().st_size
        records += sum(1 for _ in read_lines(target))
    return Input(files, records, size, left_out) if records else None


def text_files(places: list[Path]) -> Iterator[Path]:
    """Yields readable files that are not empty and look like text."""
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            try:
                if path.is_file() and not path.is_symlink() and is_text(path):
                    yield path
            except OSError:
                continue


def is_text(path: Path) -> bool:
    """Returns true if the file is not empty and its beginning has no zero byte."""
    with path.open("rb") as file:
        head = file.read(8192)
    return head != b"" and b"\0" not in head


def read_lines(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file; long lines in pieces."""
    with path.open("rb") as file:
        while line := file.readline(LINE_MAX):
            yield line.removesuffix(b"\n")


def mebibytes(size: int) -> str:
    """Formats a size."""
    return f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size:,} bytes"
