"""The price series of the most quoted instruments, a small chart for each."""

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import dates
from matplotlib.figure import Figure
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import Row

CHARTS = 6
BLUE, GREY = "#1f5fa8", "#5b6672"


def draw(windows: DataFrame, length: str, path: Path) -> None:
    """Writes a PNG: the mean of each window as a line, and the range of its quotes as a band."""
    series = _most_quoted(windows)
    figure = Figure(figsize=(12, 9))
    axes = figure.subplots(3, 2, sharex=True, squeeze=False)
    figure.suptitle(f"Prices out of mails: mean and range of {length}, UTC", fontsize=14)
    for place, chart in enumerate(axes.flat):
        if place < len(series):
            _chart(chart, series[place])
        else:
            chart.set_visible(False)
    figure.autofmt_xdate(rotation=0, ha="center")
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _most_quoted(windows: DataFrame) -> "list[list[Row]]":
    counted = windows.groupBy("instrument", "currency").agg(f.sum("quotes").alias("of_all"))
    top = counted.orderBy(f.desc("of_all"), "instrument").limit(CHARTS)
    # In seconds, because a collected timestamp would be in the local time zone.
    middle = ((f.col("start").cast("double") + f.col("end").cast("double")) / 2).alias("middle")
    joined = windows.join(f.broadcast(top), ["instrument", "currency"])
    rows = joined.select("*", middle).orderBy("middle").collect()
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(row.instrument, []).append(row)
    return sorted(series.values(), key=lambda found: -int(found[0].of_all))


def _chart(chart: "Axes", rows: "list[Row]") -> None:
    # Matplotlib's dates are days since 1970.
    times = [row.middle / 86_400 for row in rows]
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
    chart.xaxis.axis_date("UTC")
    locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
    chart.xaxis.set_major_locator(locator)
    short = dates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    chart.xaxis.set_major_formatter(short)
