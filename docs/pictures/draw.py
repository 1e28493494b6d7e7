"""The pictures of the README and the pages.

Run `python docs/pictures/draw.py` after a change; a test fails while a picture is out of date.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from canvas import Canvas, Tone

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


def produce() -> Canvas:
    """The path of a record: received, appended, flushed, shown and acknowledged."""
    canvas = Canvas(
        "A producer sends a batch, the connection checks it, the log gives it offsets in the page "
        "cache, the flusher syncs it to disk, and the high watermark rises. Only then is the batch "
        "acknowledged to the producer and shown to consumers.",
        880,
        278,
    )
    steps = (
        "Producer\nsends a batch",
        "Connection\nchecks the batch",
        "Log\nassigns offsets,\nappends it",
        "Flusher\nsyncs the file,\nonce for many",
        "High watermark\nrises",
    )
    width, gap, top, height = 140, 35, 54, 76
    lefts = [20 + number * (width + gap) for number in range(len(steps))]
    for number, (left, words) in enumerate(zip(lefts, steps, strict=True)):
        canvas.text(left + width / 2, 34, str(number + 1), anchor="middle", weight=600)
        tone: Tone = "accent" if number >= 3 else "plain"
        canvas.box(left, top, width, height, words=words, tone=tone, dashed=number == 2)
        if number:
            canvas.arrow((left - gap, top + height / 2), (left - 2, top + height / 2))
    for left, place in ((lefts[2], "in the page cache"), (lefts[3], "on disk")):
        canvas.text(left + width / 2, top + height + 22, place, anchor="middle", color="faint")
    start, end, below = lefts[4] + width / 2, lefts[0] + width / 2, 196
    canvas.arrow(
        (start - 24, top + height),
        (start - 24, below),
        (end, below),
        (end, top + height + 4),
        accent=True,
    )
    canvas.text((start + end) / 2, below - 10, "acknowledged", anchor="middle", weight=600)
    canvas.arrow((start + 24, top + height), (start + 24, 218), accent=True)
    canvas.box(lefts[4], 220, width, 44, words="Consumer\nreads it")
    return canvas


def rebalance() -> Canvas:
    """A member joins a group: offsets are committed, and partitions revoked and reassigned."""
    canvas = Canvas(
        "Consumer B joins the group of consumer A. The group rebalances: A commits its offsets and "
        "revokes its partitions, both join the next generation, and each gets two of the four "
        "partitions and resumes at the committed offsets.",
        880,
        288,
    )
    first, group, second, height = 40, 124, 208, 48
    for y, name in ((first, "Consumer A"), (group, "Group"), (second, "Consumer B")):
        canvas.text(16, y + 29, name, weight=600)
    canvas.box(126, first, 210, height, words="reads partitions 0 1 2 3", tone="accent")
    canvas.box(126, group, 162, height, words="generation 1")
    canvas.box(226, second, 120, height, words="joins")
    canvas.arrow((326, second), (326, group + height + 2))
    canvas.box(306, group, 324, height, words="rebalances: waits for all members", dashed=True)
    canvas.arrow((356, group), (356, first + 24), (394, first + 24))
    canvas.box(396, first, 170, height, words="commits its offsets,\nrevokes partitions")
    canvas.arrow((481, first + height), (481, group - 2))
    canvas.text(491, first + 71, "joins again", color="faint")
    canvas.box(650, group, 214, height, words="generation 2")
    canvas.box(650, first, 214, height, words="reads partitions 0 1", tone="accent")
    canvas.box(650, second, 214, height, words="reads partitions 2 3", tone="accent")
    canvas.arrow((757, group), (757, first + height + 2), accent=True)
    canvas.arrow((757, group + height), (757, second - 2), accent=True)
    canvas.text(767, first + 71, "assignment", color="faint")
    canvas.text(767, group + 71, "assignment", color="faint")
    canvas.text(440, 276, "time →", anchor="middle", color="faint")
    return canvas


def icon() -> Canvas:
    """The icon: three partitions, each with a last record that is not on disk yet."""
    canvas = Canvas("streamlog", 64, 64)
    for row, width in enumerate((30, 42, 18)):
        top = 7 + row * 18
        canvas.box(2, top, width, 14, tone="solid")
        canvas.box(5 + width, top, 14, 14, tone="accent")
    return canvas


PICTURES = {
    "icon": icon,
    "overview": overview,
    "partition": partition,
    "produce": produce,
    "rebalance": rebalance,
}


def rendered() -> Iterator[tuple[Path, str]]:
    """The file of each form of each picture, with its content."""
    for name, draw in PICTURES.items():
        for form, svg in draw().render():
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
