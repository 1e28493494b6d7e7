"""The subcommands of pipelines, and their messages without Spark."""

import subprocess
import sys
from pathlib import Path

from spark.pipeline.test_jobs import MINIMAL


def streamlog(*words: str, blocked: str = "") -> "subprocess.CompletedProcess[str]":
    """Runs the command in an interpreter without the module `blocked`."""
    code = f"import sys; sys.modules[{blocked!r}] = None; " if blocked else "import sys; "
    code += "from streamlog.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def test_help_and_wrong_words_are_explained_as_everywhere(tmp_path: Path) -> None:
    helped = streamlog("pipeline", "--help")
    assert helped.returncode == 0
    assert {"run", "validate", "plan"} <= set(helped.stdout.split())
    assert "pipeline" in streamlog("--help").stdout
    for words in ([], ["rnu", "x"], ["run"], ["plan", "-x"], ["run", "a", "b"]):
        wrong = streamlog("pipeline", *words)
        assert wrong.returncode == 2, words
        assert "Usage: streamlog pipeline" in wrong.stderr


def test_a_job_is_checked_and_shown_without_spark(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(MINIMAL)
    checked = streamlog("pipeline", "validate", str(job), blocked="pyspark")
    assert (checked.returncode, checked.stdout) == (
        0,
        f"{job} is sound: 1 source, 0 steps, 1 sink\n",
    )
    assert "topics are not checked: Pipelines run on PySpark, which is missing" in checked.stderr
    shown = streamlog("pipeline", "plan", str(job), blocked="pyspark")
    assert shown.returncode == 0
    assert "sink    b     a         topic b at 127.0.0.1:9092" in shown.stdout
    assert streamlog("pipeline", "run", str(job), blocked="pyspark").returncode == 1
    job.write_text(MINIMAL + "topc = 1")
    wrong = streamlog("pipeline", "run", str(job), blocked="pyspark")
    assert wrong.returncode == 2
    assert wrong.stderr == f"streamlog: {job}:7: sink.b.topc: unknown; did you mean 'topic'?\n"
