"""The example of logs, page views and metrics: as a whole, and in parts."""

import io
import json
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from logs import config, count, publish, watch

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_whole_example_ends_with_the_alerts_of_the_truth(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    text = config.FILE.read_text().replace("seconds = 25", "seconds = 6")
    settings.write_text(text.replace("\nerrors = 12", "\nerrors = 4"))
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "logs",
        "--config",
        settings,
        "--folder",
        tmp_path / "all",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("every alert is there, once, with the right count\n")
    counted = re.search(r"^([\d,]+) records, (\d+) alerts", done.stdout, re.MULTILINE)
    assert counted is not None, done.stdout
    assert int(counted[1].replace(",", "")) > 6 * 400
    assert int(counted[2]) >= 3


def test_an_alert_is_a_line() -> None:
    alert = {"host": "web-1", "from_ms": 0, "until_ms": 5000, "errors": 7, "log_errors": 4}
    line = watch.line(json.dumps({**alert, "failed_pages": 3, "load": 2.25}).encode())
    counts = "7 errors: 4 in its log, 3 failed pages, load up to 2.2"
    assert line.split() == f"00:00:00 to 00:00:05 web-1 {counts}".split()


def test_lines_of_real_logs_are_distinguished(spark: SparkSession) -> None:
    lines = {
        "<27>1 2026-11-21T22:00:00Z web nginx 1 - - connect() refused": True,
        "<30>1 2026-11-21T22:00:00Z web cron 1 - - error in the words only": False,
        "<99999999999>1 2026-11-21T22:00:00Z web x 1 - - no such level, an error": True,
        "2026-11-21T22:00:00.1+00:00 web kernel: Out of memory: Killed process 7": True,
        "Nov 21 22:00:00 web sshd[7]: Failed password for root": True,
        "Nov 21 22:00:00 web sshd[7]: Accepted publickey": False,
        '1.2.3.4 - - [21/Nov/2026:22:00:00 +0000] "GET /error HTTP/1.1" 503 12 "-" "-"': True,
        '1.2.3.4 - - [21/Nov/2026:22:00:00 +0000] "GET / HTTP/1.1" 404 12 "-" "-"': False,
    }
    table = spark.createDataFrame([Row(line=line) for line in lines])
    is_page = table.line.startswith("1.2.3.4")
    found = table.select(
        "line", (is_page & count.is_failed_page(table.line)).alias("page"),
        (~is_page & count.is_error_line(table.line)).alias("log"),
    ).collect()  # fmt: skip
    assert {row.line: row.page or row.log for row in found} == lines


def test_a_metric_without_a_number_has_no_load(spark: SparkSession) -> None:
    metrics = ['{"load": 2.5}', '{"load": "high"}', "{}", "no JSON"]
    table = spark.createDataFrame([Row(metric=metric) for metric in metrics])
    found = table.select(count.load(table.metric).alias("load")).collect()
    assert [row["load"] for row in found] == [2.5, None, None, None]


def test_a_file_is_followed_through_its_rotation(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_text("before\n")
    lines = publish.follow(path)
    with path.open("a") as file:
        file.write("first\nhalf")
    assert next(lines) == b"first"
    with path.open("a") as file:
        file.write(" and half\n")
    assert next(lines) == b"half and half"
    path.rename(tmp_path / "syslog.1")
    path.write_text("second\n")
    assert next(lines) == b"second"
    lines.close()


class PutAside(io.BufferedReader):
    """A log file that is appended to and rotated as soon as it has been read."""

    def __init__(self, path: Path) -> None:
        """Opens the file."""
        super().__init__(io.FileIO(path))
        self._path = path

    def readline(self, size: int | None = -1, /) -> bytes:
        """Returns a line; at the end of the file the new one exists already."""
        line = super().readline(size)
        aside = self._path.with_suffix(".1")
        if not line and not aside.exists():
            with self._path.open("a") as file:
                file.write("late\nwithout an end")
            self._path.rename(aside)
            self._path.write_text("second\n")
        return line


def test_lines_just_before_a_rotation_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_text("first\n")
    lines = publish._lines(path, PutAside(path))
    assert list(islice(lines, 4)) == [b"first", b"late", b"without an end", b"second"]
    lines.close()


def test_a_setting_with_a_typo_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config.FILE.read_text().replace("seconds = 25", "second = 25"))
    with pytest.raises(SystemExit, match=r"not known: \['second'\], missing: \['seconds'\]"):
        config.read(path)
    path.write_text("bootstrap = ")
    with pytest.raises(SystemExit, match=r"config\.toml: Invalid value"):
        config.read(path)
