"""`validate` and `plan` report mistakes about topics, without Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from streamlog.spark.pipeline.command import main

Check = Callable[[str, str], tuple[int, str, str]]

JOB = """
bootstrap = "{address}"
[stream]
checkpoint = "checkpoint"
[source.orders]
topic = "{topic}"
start = "earliest"
[sink.copy]
from = "orders"
topic = "{topic}.copy"
exactly_once = true
"""


@pytest.fixture
def job(broker: BrokerProcess, client: streamlog.Client, topic: str) -> str:
    """A valid job, whose topics exist with two partitions each."""
    for name in (topic, f"{topic}.copy"):
        client.admin.create_topic(name, partitions=2)
    return JOB.format(address=broker.address, topic=topic)


@pytest.fixture
def check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Check:
    """Runs a subcommand on a job's text; returns the exit code and both outputs."""
    monkeypatch.chdir(tmp_path)

    def run(verb: str, text: str) -> tuple[int, str, str]:
        Path("job.toml").write_text(text)
        code = main(verb, "job.toml")
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize("verb", ["validate", "plan"])
@pytest.mark.parametrize(
    "case",
    [
        ('.copy"', '.cpy"', 5, "job.toml:8: sink.copy: there is no topic or partition "),
        ('topic = "TOPIC"\n', 'topic = "TOPICS"\n', 5,
         "job.toml:5: source.orders: there is no topic 'TOPICS', did you mean 'TOPIC"),
        ('start = "earliest"', "start = { TOPIC = { 0 = 1, 1 = 1, 2 = 1 } }", 5,
         "job.toml:5: source.orders: option 'startingOffsets': partition 2 of 'TOPIC' is not read"),
        ('start = "earliest"', "start = { TOPIC = { 0 = 1 } }", 5,
         "job.toml:5: source.orders: option 'startingOffsets': partition 1 of 'TOPIC' is missing"),
        ('start = "earliest"', "options = { maxOffsetPerTrigger = 9 }", 2,
         "job.toml:5: source.orders: option 'maxoffsetpertrigger': unknown, did you mean 'maxOff"),
        ("exactly_once = true", "options = { partitionr = 'sticky' }", 2,
         "job.toml:8: sink.copy: option 'partitionr': unknown, did you mean 'partitioner'?"),
        ("exactly_once = true", "options = { acks = 'most' }", 2,
         "job.toml:8: sink.copy: option 'acks': invalid value 'most'"),
    ],
)  # fmt: skip
def test_a_mistake_about_topics_is_reported_with_its_place(
    verb: str, case: tuple[str, str, int, str], job: str, topic: str, check: Check
) -> None:
    old, new, told = (str(part).replace("TOPIC", topic) for part in (case[0], case[1], case[3]))
    assert old in job
    code, out, err = check(verb, job.replace(old, new))
    assert (code, out) == (case[2], "")
    assert err.startswith(f"streamlog: {told}")


def test_all_mistakes_are_reported_at_once(job: str, topic: str, check: Check) -> None:
    wrong = job.replace(f'"{topic}"', f'"{topic}.none"').replace('.copy"', '.nowhere"')
    code, _, err = check("validate", wrong)
    assert code == 5
    places = [line.split(": ")[2] for line in err.splitlines()]
    assert places == ["source.orders", "sink.copy"]


def test_a_sound_job_is_called_so_and_nothing_is_made(
    job: str, client: streamlog.Client, check: Check
) -> None:
    before = client.admin.topics()
    sound = "job.toml is sound: 1 source, 0 steps, 1 sink\n"
    assert check("validate", job) == (0, sound, "")
    assert client.admin.topics() == before


def test_without_a_broker_only_the_file_is_checked_with_a_message(
    job: str, broker: BrokerProcess, check: Check
) -> None:
    code, out, err = check("validate", job.replace(broker.address, "127.0.0.1:1"))
    assert code == 0
    assert "is sound" in out
    assert err.startswith("streamlog: topics are not checked: no broker could be reached: 127.0")
