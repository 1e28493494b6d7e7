"""The harness of the study: its rows come out, and nothing that it starts is left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from study.clients.client import Outcome
from study.errors import PeerError, RoomError, StudyError
from study.pages import BEGIN, END, GUIDE, replaced, with_settings
from study.peers import PEERS
from study.pictures import rate_over_records
from study.plan import SCALES, chosen_peers
from study.processes import Command, check_room, family, is_running, served
from study.report import ahead, markdown
from study.results import Measurement, Store
from study.rows import chosen_rows, rows_of
from study.rows.row import check

BENCH = Path(__file__).parents[2]
TINY = SCALES["tiny"]


def environment() -> dict[str, str]:
    folders = f"{BENCH}:{BENCH.parent / 'docs' / 'pictures'}"
    return {**os.environ, "PYTHONPATH": folders}


def study(out: Path, *options: str) -> list[str]:
    command = [sys.executable, "-m", "study", "--scale", "tiny", "--out", str(out)]
    return [*command, "--data", str(out / "data"), *options]


@pytest.mark.timeout(300)
def test_every_row_of_streamlog_ruler_and_kafka_comes_out_and_is_kept(tmp_path: Path) -> None:
    names = ["start", "paper-produce-1", "paper-consume", "sync-flushed", "latency-500-cached"]
    command = study(tmp_path, "--peers", "ruler,kafka", "--rows", ",".join(names))
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "tiny" / "results.json").read_text())
    found = {(row["row"], f"{row['peer']}/{row['client']}") for row in results["measurements"]}
    expected = {
        (row.name, subject.key)
        for row in chosen_rows(TINY, ",".join(names))
        for name in ("ruler", "streamlog", "kafka")
        for subject in row.subjects(PEERS[name])
    }
    assert found == expected
    assert not results["partial"]
    assert all(row["figures"][figure_of(row["row"])] > 0 for row in results["measurements"])
    assert list((tmp_path / "data").iterdir()) == []
    assert "| Apache Kafka | Kafka's Java client |" in done.stdout
    again = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert again.returncode == 0, again.stderr
    assert "round" not in again.stderr, "the kept measurements were made again"


def figure_of(name: str) -> str:
    return next(row.figure for row in rows_of(TINY) if row.name == name)


@pytest.mark.timeout(60)
def test_an_interrupted_study_stops_its_peers_and_keeps_its_results_as_partial(
    tmp_path: Path,
) -> None:
    command = study(tmp_path, "--peers", "ruler", "--rows", "start,latency")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stderr is not None
    first = process.stderr.readline()
    assert "ruler/load, start" in first
    started = family(process.pid)
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == 130, rest
    process.stderr.close()
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert json.loads((tmp_path / "tiny" / "results.json").read_text())["partial"]


def test_a_peer_that_ends_at_its_start_is_reported_with_its_output(tmp_path: Path) -> None:
    command = Command(["sh", "-c", "echo port 9092 is used; exit 3"], tmp_path, {})
    with served(command) as server, pytest.raises(PeerError, match=r"(?s)ended with 3.*is used"):
        server.wait_until(lambda: False, 10)


def test_a_server_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    with served(Command(["sh", "-c", "sleep 600 & sleep 600"], tmp_path, {})) as server:
        server.wait_until(lambda: len(family(server.process.pid)) > 1, 10)
        started = family(server.process.pid)
    assert not [pid for pid in started if is_running(pid)]


def test_too_little_room_is_refused_with_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(RoomError, match="GiB free, and this study needs"):
        check_room(tmp_path, 1 << 60)


def test_unknown_peers_and_rows_are_refused() -> None:
    with pytest.raises(StudyError, match="no peer kafak"):
        chosen_peers("kafak")
    with pytest.raises(StudyError, match="no row paper-consum;"):
        chosen_rows(TINY, "paper-consum")
    names = [peer.name for peer in chosen_peers("rabbitmq")]
    assert names == ["streamlog", "rabbitmq-classic", "rabbitmq-quorum", "rabbitmq-stream"]


def test_missing_records_fail_unless_the_time_was_over() -> None:
    with pytest.raises(StudyError, match="9 of 10 records"):
        check(Outcome({"records": 9.0}, []), 10, elapsed=1, limit=5)
    check(Outcome({"records": 9.0}, []), 10, elapsed=6, limit=5)
    with pytest.raises(StudyError, match="no record within 5 s"):
        check(Outcome({"records": 0.0}, []), 10, elapsed=6, limit=5)


def measurement(peer: str, number: int, **figures: float) -> Measurement:
    return Measurement("produce-1-cached", peer, "load", number, {"name": "tiny"}, dict(figures))


def test_a_failed_measurement_is_made_again_and_one_of_another_scale_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = measurement("kafka", 0, per_second=10.0)
    store.save(kept)
    assert store.find(kept) == kept
    other = Measurement(kept.row, kept.peer, kept.client, 0, {"name": "full"})
    assert store.find(other) is None
    store.save(Measurement(kept.row, kept.peer, kept.client, 0, kept.scale, error="no answer"))
    assert store.find(kept) is None


def test_ratios_are_taken_within_rounds_and_say_how_far_streamlog_is_ahead() -> None:
    rate = next(row for row in rows_of(TINY) if row.name == "produce-1-cached")
    ours = {0: {"per_second": 100.0}, 1: {"per_second": 1000.0}, 2: {"per_second": 30.0}}
    theirs = {0: {"per_second": 50.0}, 1: {"per_second": 500.0}, 2: {"per_second": 15.0}}
    assert ahead(rate, ours, theirs, "kafka") == "2.00 (2.00 to 2.00)"
    time = next(row for row in rows_of(TINY) if row.name == "start")
    assert ahead(time, {0: {"start_ms": 10.0}}, {0: {"start_ms": 50.0}}, "kafka") == "5.00"


def results() -> dict[str, object]:
    measured = {"row": "paper-produce-1", "client": "load", "round": 0, "error": ""}
    figures = {"per_second": 1000.0, "cpu_ns": 10.0}
    series = [[100, 0.1], [200, 0.2]]
    each = {**measured, "figures": figures, "series": series}
    return {
        "scale": TINY.as_json(),
        "date": "2026-01-01",
        "machine": {"cores": "2"},
        "partial": True,
        "rounds": 1,
        "versions": {"kafka": "4.4.0"},
        "missing": {"crabka": "withdrawn"},
        "measurements": [{**each, "peer": "streamlog"}, {**each, "peer": "kafka"}],
    }


def test_the_page_is_rewritten_between_its_marks_and_says_that_results_are_partial() -> None:
    page = replaced(f"before\n{BEGIN}old{END}after\n", results())
    assert page.startswith(f"before\n{BEGIN}")
    assert page.endswith(f"{END}after\n")
    assert "old" not in page
    assert "Partial" in page
    assert "Missing: Crabka: withdrawn." in page
    row = "| Apache Kafka | bench/load | not acknowledged | 1,000 | 10 | 1.00 |"
    assert row in list(markdown(results()))


def test_the_page_lists_the_settings_of_all_peers_as_they_are() -> None:
    assert GUIDE.read_text() == with_settings(GUIDE.read_text())


def test_the_picture_has_a_line_for_each_peer() -> None:
    forms = dict(rate_over_records(results()).render())
    assert "Apache Kafka, load, batch 1" in forms["light"]
    assert "streamlog, load, batch 1" in forms["dark"]
