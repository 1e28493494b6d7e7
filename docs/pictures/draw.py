"""The pictures of the README and the pages.

Run `python docs/pictures/draw.py` after a change; a test fails while a picture is out of date.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from canvas import Canvas

HERE = Path(__file__).parent


def overview() -> Canvas:
    """Producers append to the partitions of a topic; groups and Spark read them."""
    canvas = Canvas(
        "Producers append records to the partitions of a topic. Consumer groups and Spark read "
        "each partition at their own pace, up to the last record that is on disk.",
        880,
        300,
    )
    canvas.text(86, 30, "Producers", anchor="middle", weight=600)
    canvas.text(414, 30, "Topic “orders”: one log per partition", anchor="middle", weight=600)
    canvas.text(766, 30, "Readers", anchor="middle", weight=600)
    canvas.box(222, 46, 384, 212, tone="quiet")
    for row, records in enumerate((7, 5, 6)):
        top = 64 + row * 68
        canvas.text(252, top + 25, str(row), anchor="end", color="faint")
        for number in range(records):
            canvas.box(264 + number * 40, top, 38, 38, words=str(number), tone="accent")
        canvas.box(264 + records * 40, top, 38, 38, words=str(records), dashed=True)
    sources = ("Python", "any Kafka client", "Rust, in process")
    readers = (
        "group “billing”\n2 consumers share 0, 1, 2",
        "group “search”\nat its own offsets",
        "Spark\ntables and streams",
    )
    for row, (source, reader) in enumerate(zip(sources, readers, strict=True)):
        middle = 83 + row * 68
        canvas.box(16, middle - 22, 140, 44, words=source)
        canvas.arrow((156, middle), (220, middle))
        canvas.box(668, middle - 28, 196, 56, words=reader)
        canvas.arrow((606, middle), (666, middle), accent=True)
    legend = "solid: on disk, readable · dashed: appended, not readable yet"
    canvas.text(414, 284, legend, anchor="middle", color="faint")
    return canvas


def partition() -> Canvas:
    """The offsets of a partition: log start, committed offset, high watermark, log end."""
    canvas = Canvas(
        "A partition from the log start offset over the committed offset of a group to the high "
        "watermark and the log end offset.",
        880,
        250,
    )
    left, top, size = 30, 96, 54
    for number in range(15):
        offset = number + 100
        x = left + number * size
        if number < 2:
            canvas.box(x, top, size - 2, 44, words=str(offset), tone="quiet", dashed=True)
        elif number < 12:
            canvas.box(x, top, size - 2, 44, words=str(offset), tone="accent")
        else:
            canvas.box(x, top, size - 2, 44, words=str(offset))
    marks = (
        (2, "log start offset", "first readable; retention raises it"),
        (12, "high watermark", "end of what is flushed and shown"),
    )
    for number, name, meaning in marks:
        x = left + number * size
        canvas.text(x, 28, name, anchor="middle", weight=600)
        canvas.text(x, 48, meaning, anchor="middle", color="faint")
        canvas.arrow((x, 58), (x, top - 4))
    canvas.arrow((left + 8 * size, 196), (left + 8 * size, top + 50), accent=True)
    canvas.text(left + 8 * size, 216, "committed offset of “billing”", anchor="middle", weight=600)
    canvas.text(left + 8 * size, 236, "lag: 4 records", anchor="middle", color="faint")
    canvas.arrow((left + 15 * size, 196), (left + 15 * size, top + 50))
    canvas.text(left + 15 * size, 216, "log end offset", anchor="end", weight=600)
    canvas.text(left + 15 * size, 236, "the next record gets it", anchor="end", color="faint")
    return canvas


def rendered() -> Iterator[tuple[Path, str]]:
    """The file of each picture, with what belongs into it."""
    for name, canvas in (("overview", overview()), ("partition", partition())):
        for form, svg in canvas.render():
            yield HERE / f"{name}-{form}.svg", svg


def main(words: list[str]) -> int:
    """Draws all pictures; with ``--check``, names those that are out of date instead."""
    old = [(path, svg) for path, svg in rendered() if not path.is_file() or path.read_text() != svg]
    for path, svg in old:
        print(path.name)
        if "--check" not in words:
            path.write_text(svg)
    return 1 if old and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
