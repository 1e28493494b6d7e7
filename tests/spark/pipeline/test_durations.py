"""Durations in jobs: those that Spark accepts are accepted, others are reported before."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from spark.pipeline.test_jobs import MINIMAL, faults_of, read
from streamlog.errors import ConfigError
from streamlog.spark import deduplicate, join_streams, window_aggregate
from streamlog.spark.durations import Duration

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "seen", "microseconds"),
    [
        ("10 seconds", "10 seconds", 10 * SECOND),
        ("1 second", "1 second", SECOND),
        (" 10 \t SECONDS ", "10 seconds", 10 * SECOND),
        ("interval 5 minutes", "5 minutes", 300 * SECOND),
        ("1 hour 30 minutes", "1 hour 30 minutes", 5400 * SECOND),
        ("1.5 seconds", "1 second 500 milliseconds", 1_500_000),
        ("1.5 minutes", "1 minute 30 seconds", 90 * SECOND),
        ("10s", "10 seconds", 10 * SECOND),
        ("500 ms", "500 milliseconds", 500_000),
        ("15 mins", "15 minutes", 900 * SECOND),
        ("1h30m", "1 hour 30 minutes", 5400 * SECOND),
        ("1 hour, 2 minutes", "1 hour 2 minutes", 3720 * SECOND),
        ("100 milliseconds", "100 milliseconds", 100_000),
        ("7 microseconds", "7 microseconds", 7),
        ("2 weeks 1 day", "2 weeks 1 day", 15 * 86_400 * SECOND),
        ("0 seconds", "0 seconds", 0),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, seen: str, microseconds: int) -> None:
    assert Duration.of(text) == Duration(seen, microseconds)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("10 secnds", "; did you mean 'seconds'?"),
        ("1h 5 minuts", "; did you mean 'minutes'?"),
        ("1 month", ": a month is not always as long as another, say it in days"),
        ("2 years", ": a year is not always as long as another, say it in days"),
        *((text, "") for text in ("10", "ten seconds", "-5 seconds", "5 seconds ago", "P1D")),
        *((text, "") for text in ("", ".", "5 minutes 1 hour", "99999999999999 days")),
    ],
)
def test_an_invalid_duration_is_reported_with_the_nearest_unit(text: str, end: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Duration.of(text, "delay")
    assert str(caught.value) == f"delay: invalid value '{text}': expected as '10 seconds'{end}"


JOB = """\
[stream]
checkpoint = "c"
trigger = "10 seconds"
[source.a]
topic = "a"
watermark = { delay = "10 minutes" }
[step.b]
from = "a"
deduplicate = { by = "key", within = "1 hour" }
[step.c]
from = "b"
join = { with = "a", by = "key", within = "2 hours" }
[step.d]
from = "c"
[step.d.window]
length = "5 minutes"
slide = "1 minute"
aggregates = { n = "count(*)" }
[step.e]
from = "c"
[step.e.window]
gap = "3 minutes"
aggregates = { n = "count(*)" }
[sink.b]
from = "a"
topic = "b"
"""


@pytest.mark.parametrize(
    ("key", "found", "written", "hint"),
    [
        ("3: stream.trigger", "10 seconds", "10 secnds", "seconds"),
        ("6: source.a.watermark.delay", "10 minutes", "10 minuts", "minutes"),
        ("9: step.b.deduplicate.within", "1 hour", "1 huor", "hours"),
        ("12: step.c.join.within", "2 hours", "2 hoors", "hours"),
        ("16: step.d.window.length", "5 minutes", "5minuts", "minutes"),
        ("17: step.d.window.slide", "1 minute", "1 minite", "minutes"),
        ("22: step.e.window.gap", "3 minutes", "3 mintes", "minutes"),
    ],
)
def test_every_duration_of_a_job_is_checked(key: str, found: str, written: str, hint: str) -> None:
    read(JOB)
    told = f"job.toml:{key}: invalid value '{written}': expected as '10 seconds'"
    fault = f"{told}; did you mean '{hint}'?"
    if key.endswith("trigger"):
        fault = fault.replace("as '10", "'once', 'available-now' or as '10")
    assert faults_of(JOB.replace(f'"{found}"', f'"{written}"')) == [fault]


@pytest.mark.parametrize(
    ("found", "written", "fault"),
    [
        ("5 minutes", "0 seconds", "16: step.d.window.length: a window is longer than nothing"),
        ("1 minute", "0 seconds", "17: step.d.window.slide: a window is longer than nothing"),
        ("3 minutes", "0 days", "22: step.e.window.gap: a window is longer than nothing"),
        ("1 minute", "6 minutes", "17: step.d.window.slide: it is longer than the window, 5 min"),
    ],
)
def test_windows_are_longer_than_nothing_and_leave_no_gaps(
    found: str, written: str, fault: str
) -> None:
    (told,) = faults_of(JOB.replace(f'"{found}"', f'"{written}"'))
    assert told.startswith(f"job.toml:{fault}"), told


def test_spark_gets_the_duration_that_was_checked() -> None:
    job = read(
        JOB.replace("10 seconds", "interval  10 SECONDS").replace("1 hour", "INTERVAL 1 hour")
    )
    assert job.stream is not None
    assert job.stream.trigger == "10 seconds"
    assert job.steps[0].arguments["within"] == "1 hour"
    assert read("stream.checkpoint = 'c'" + MINIMAL).stream is not None


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda text: window_aggregate(cast(Any, None), {"n": "count(*)"}, gap=text), "gap"),
        (lambda text: window_aggregate(cast(Any, None), {"n": "count(*)"}, length=text), "length"),
        (lambda text: deduplicate(cast(Any, None), ["id"], within=text), "within"),
        (
            lambda text: join_streams(cast(Any, None), cast(Any, None), ["id"], within=text),
            "within",
        ),
    ],
)
def test_functions_refuse_it_too(call: Callable[[str], object], name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: invalid value '5 minuts'.*'minutes'"):
        call("5 minuts")
