"""The figure of the paper: the rate of producers over the number of records sent."""

from itertools import pairwise
from math import log10

from canvas import Canvas

from study.peers import PEERS
from study.report import Results

WIDTH, HEIGHT = 880, 360
LEFT, TOP, RIGHT, BOTTOM = 90, 40, 610, 310
ROWS = {"paper-produce-1": "batch 1", "paper-produce-50": "batch 50"}


def rate_over_records(results: Results) -> Canvas:
    """Draws the first round's progress of each peer with the clients' common measure."""
    canvas = Canvas(
        "The rate of producers over the number of records that they have sent, one line for each "
        "peer, on a logarithmic scale.",
        WIDTH,
        HEIGHT,
    )
    canvas.text(LEFT, 24, "Produce, without acknowledgements: records/s", weight=600)
    for exponent in range(3, 9):
        y = height(10.0**exponent)
        canvas.line((LEFT, y), (RIGHT, y), color="line", width=0.5)
        canvas.text(LEFT - 8, y + 5, f"{10**exponent:,}", anchor="end", color="faint")
    last = results["scale"]["paper_records"]
    canvas.text((LEFT + RIGHT) / 2, BOTTOM + 34, f"records sent, up to {last:,}", anchor="middle")
    ends = []
    for found in results["measurements"]:
        points = progress(found["series"], last)
        if found["row"] in ROWS and found["round"] == 0 and points:
            is_ours = found["peer"] == "streamlog"
            canvas.line(*points, color="accent" if is_ours else "ink", width=2 if is_ours else 1)
            name = f"{PEERS[found['peer']].title}, {found['client']}, {ROWS[found['row']]}"
            ends.append((points[-1][1], points[-1][0], name, is_ours))
    below = 0.0
    for y, x, name, is_ours in sorted(ends):
        # Labels of lines that end close to each other are moved apart.
        below = max(y + 4, below + 14)
        canvas.line((x, y), (RIGHT + 8, below - 4), color="line", width=0.5)
        canvas.text(RIGHT + 12, below, name, color="accent" if is_ours else "ink")
    return canvas


def progress(series: list[list[float]], last: int) -> list[tuple[float, float]]:
    """The points of a line: the rate between two samples, at the later one."""
    points = []
    for (before, since), (records, at) in pairwise(series):
        if at > since:
            x = LEFT + (RIGHT - LEFT) * records / last
            points.append((x, height((records - before) / (at - since))))
    return points


def height(rate: float) -> float:
    """The position of a rate, from a thousand to a hundred millions a second."""
    part = (log10(max(rate, 1000.0)) - 3) / 5
    return BOTTOM - (BOTTOM - TOP) * min(part, 1.0)
