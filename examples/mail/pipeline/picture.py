"""The price series of the instruments that were quoted most, one small chart for each."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import Row

CHARTS = 6
BLUE, GREY = "#1f5fa8", "#5b6672"


def draw(windows: DataFrame, length: str, path: Path) -> None:
    """Writes a PNG: the mean of each window as a line, and the range of its quotes as a band."""
    # No window on a screen is asked for.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    series = _most_quoted(windows)
    figure, axes = pyplot.subplots(3, 2, figsize=(12, 9), sharex=True, squeeze=False)
    figure.suptitle(f"Prices out of mails: mean and range of {length}", fontsize=14, x=0.5)
    for place, chart in enumerate(axes.flat):
        if place < len(series):
            _chart(chart, series[place])
        else:
            chart.set_visible(False)
    figure.autofmt_xdate(rotation=0, ha="center")
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _most_quoted(windows: DataFrame) -> "list[list[Row]]":
    counted = windows.groupBy("instrument", "currency").agg(f.sum("quotes").alias("of_all"))
    top = counted.orderBy(f.desc("of_all"), "instrument").limit(CHARTS)
    rows = windows.join(f.broadcast(top), ["instrument", "currency"]).orderBy("start").collect()
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(row.instrument, []).append(row)
    return sorted(series.values(), key=lambda found: -int(found[0].of_all))


def _chart(chart: "Axes", rows: "list[Row]") -> None:
    times = [_middle(row.start, row.end) for row in rows]
    low, high = [float(row.low) for row in rows], [float(row.high) for row in rows]
    chart.fill_between(times, low, high, color=BLUE, alpha=0.18, linewidth=0)
    chart.plot(times, [float(row["mean"]) for row in rows], color=BLUE, linewidth=1.4, marker=".")
    first = rows[0]
    chart.set_title(first.name or first.instrument, fontsize=10.5, loc="left")
    chart.set_title(f"{first.of_all} quotes", fontsize=9, loc="right", color=GREY)
    chart.set_ylabel(first.currency, color=GREY)
    chart.grid(alpha=0.25)
    chart.spines[["top", "right"]].set_visible(False)
    chart.ticklabel_format(axis="y", useOffset=False)
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()
    chart.xaxis.set_major_locator(locator)
    chart.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _middle(start: datetime, end: datetime) -> datetime:
    return start + (end - start) / 2
