"""Jobs of a small Makefile: when they start, how they end, and what a failure shows."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(120)  # a run starts up to nine processes in Python, one by one
TESTS = Path(__file__).parents[1]
PROGRAM = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from jobs import table, verdict
from jobs.logs import log_folder
from jobs.scheduler import Scheduler

with log_folder():
    scheduler = Scheduler(table.parse(open("jobs.toml").read()), 3)
    scheduler.run()
    found = verdict.repeated(verdict.findings(scheduler.outcomes))
    sys.exit(not verdict.report(scheduler.outcomes, found))
"""


PYTEST = f"""export TEST
t:
\t{sys.executable} -m pytest -ra WORKERS $(if $(TEST),"$$TEST",test_x.py)
"""


class Run:
    """A run of jobs in a folder of its own."""

    def __init__(self, folder: Path, makefile: str, jobs: str) -> None:
        """Starts the run; each job has one core and a minute unless it says more."""
        self.folder = folder
        (folder / "Makefile").write_text(makefile)
        rows = re.split(r"^(?=\[)", jobs, flags=re.MULTILINE)[1:]
        usual = {"minutes": "1", "cores": "1"}
        tables = [
            row + "".join(f"\n{key} = {value}" for key, value in usual.items() if key not in row)
            for row in rows
        ]
        (folder / "jobs.toml").write_text("\n".join(tables))
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def await_file(self, name: str) -> str:
        """Waits until a job has written a file, and returns its text."""
        path = self.folder / name
        while not path.exists() or not path.read_text().endswith("\n"):
            assert self._process.poll() is None, self.end()
        return path.read_text()

    def interrupt(self) -> None:
        """Sends what Ctrl-C sends."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Waits for the end, and returns the status and the output."""
        output, _ = self._process.communicate()
        return self._process.returncode, output


def is_running(pid: str) -> bool:
    return Path(f"/proc/{int(pid)}").exists()


def test_a_job_starts_once_its_needs_have_passed_and_not_if_one_failed(tmp_path: Path) -> None:
    makefile = "a:\n\ttouch a\nb:\n\ttest -e a && touch b\nbad:\n\tfalse\nc:\n\ttouch c\n"
    jobs = '[c]\nneeds = ["b", "bad"]\n[b]\nneeds = ["a"]\n[a]\n[bad]\n'
    status, output = Run(tmp_path, makefile, jobs).end()
    assert status == 1
    assert (tmp_path / "b").exists()
    assert not (tmp_path / "c").exists()
    assert "not run, because it needs bad" in output
    assert output.splitlines()[-1] == "0 passed, 1 failed"


def test_jobs_run_side_by_side_as_far_as_there_are_cores(tmp_path: Path) -> None:
    # Each waits for the other: alone, none of them would end.
    pair = "a:\n\ttouch a; until test -e b; do sleep 0.01; done\n"
    pair += "b:\n\ttouch b; until test -e a; do sleep 0.01; done\n"
    alone = "c:\n\ttest -e d || touch c\nd:\n\ttest -e c\n"
    status, output = Run(tmp_path, pair + alone, "[a]\n[b]\n[c]\ncores = 3\n[d]\ncores = 3\n").end()
    assert status == 0, output


def test_a_job_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    makefile = "slow:\n\tsetsid sh -c 'echo $$$$ >left; sleep 600' & sleep 600\n"
    run = Run(tmp_path, makefile, "[slow]\nminutes = 0.1\n")
    left = run.await_file("left")
    status, output = run.end()
    assert status == 1
    assert "not done after 0.1 minutes" in output
    assert not is_running(left)


def test_ctrl_c_ends_everything_that_was_started(tmp_path: Path) -> None:
    makefile = "a:\n\tsetsid sh -c 'echo $$$$ >left; sleep 600' & sleep 600\n"
    makefile += "b:\n\ttrap '' INT; echo $$$$ >deaf; sleep 600 & wait\n"
    run = Run(tmp_path, makefile, "[a]\n[b]\n")
    pids = run.await_file("left"), run.await_file("deaf")
    run.interrupt()
    status, output = run.end()
    assert "KeyboardInterrupt" in output
    assert status != 0
    assert not any(map(is_running, pids))


TEST = """
import pathlib

def test_sound():
    pass

def test_broken():
    tries = pathlib.Path("tries")
    tries.write_text("x" + (tries.read_text() if tries.exists() else ""))
    assert len(tries.read_text()) > {passing_after}, "the reason"
"""


@pytest.mark.parametrize("workers", ["", "-n 2"])
@pytest.mark.parametrize(("passing_after", "row"), [(9, "unsteady = true"), (1, "")])
def test_a_failed_test_is_named_with_its_output_and_the_command_that_repeats_it(
    tmp_path: Path, workers: str, passing_after: int, row: str
) -> None:
    (tmp_path / "test_x.py").write_text(TEST.format(passing_after=passing_after))
    makefile = PYTEST.replace("WORKERS", workers)
    status, output = Run(tmp_path, makefile, f"[t]\n{row}\n").end()
    assert status == 1
    assert "AssertionError: the reason" in output
    assert "=== failed; repeat it by: make t TEST=test_x.py::test_broken" in output
    reason = "AssertionError: the reason"
    assert output.splitlines()[-2:] == [
        f"failed: make t TEST=test_x.py::test_broken: {reason}",
        "1 passed, 1 failed",
    ]


def test_a_test_that_passes_twice_more_is_unstable_and_fails_no_run(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(TEST.format(passing_after=1))
    makefile = PYTEST.replace("WORKERS", "")
    status, output = Run(tmp_path, makefile, "[t]\nunsteady = true\n").end()
    assert status == 0, output
    assert "unstable: test_x.py::test_broken" in output
    assert "AssertionError: the reason" in output
    assert output.splitlines()[-1] == "2 passed, 0 failed"


def test_a_test_that_passes_twice_more_excuses_no_other_failure(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(TEST.format(passing_after=1))
    makefile = PYTEST.replace("WORKERS", "").rstrip()
    makefile += '; code=$$?; test -n "$(TEST)" || sleep 600; exit $$code\n'
    status, output = Run(tmp_path, makefile, "[t]\nunsteady = true\nminutes = 0.3\n").end()
    assert status == 1, output
    assert "unstable: test_x.py::test_broken" in output
    assert "not done after 0.3 minutes: not by one test" in output
    assert output.splitlines()[-1] == "2 passed, 1 failed"


STRANGE = """
import pytest

@pytest.mark.parametrize("word", ["it's [a] $HOME::x", "sound"])
class TestWords:
    def test_a_word_with_a_name_that_is_as_long_as_the_line_in_which_pytest_shows_it(self, word):
        assert word == "sound", "the reason"
"""


def test_a_test_with_a_strange_name_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(STRANGE)
    makefile = PYTEST.replace("WORKERS", "")
    status, output = Run(tmp_path, makefile, "[t]\n").end()
    assert status == 1
    assert output.splitlines()[-1] == "1 passed, 1 failed"
    assert output.count("E       AssertionError: the reason") == 1
    (command,) = re.findall("repeat it by: (make .*)", output)
    again = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "1 failed" in again.stdout, again.stdout
    assert "passed" not in again.stdout


def test_tests_that_cannot_be_collected_fail_the_run_however_they_fare_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_x.py").write_text("def test_sound(): pass\n")
    broken = "import os\nassert 'TEST' not in os.environ\ndef test_sound(): pass\n"
    (tmp_path / "test_y.py").write_text(broken.replace("not in", "in"))
    makefile = f"t:\n\tenv -u TEST {sys.executable} -m pytest -ra test_x.py test_y.py\n"
    status, output = Run(tmp_path, makefile, "[t]\nunsteady = true\n").end()
    assert status == 1
    assert "test_y.py" in output
    assert not output.splitlines()[-1].endswith(" 0 failed")


LIBTEST = """\
running 3 tests
test a::sound ... ok
test a::broken ... FAILED

failures:

---- a::broken stdout ----
thread 'a::broken' (9) panicked at src/a.rs:1:1:
seed 7: left is not right

failures:
    a::broken

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""


def test_a_failed_test_in_rust_is_named_with_its_output(tmp_path: Path) -> None:
    (tmp_path / "libtest.txt").write_text(LIBTEST)
    status, output = Run(tmp_path, "t:\n\t@cat libtest.txt; false\n", "[t]\n").end()
    assert status == 1
    assert "seed 7: left is not right" in output
    assert "failed: make t TEST=a::broken: seed 7: left is not right" in output
    assert "test a::sound" not in output
    assert output.splitlines()[-1] == "2 passed, 1 failed"


def test_a_job_that_names_no_test_shows_its_last_lines(tmp_path: Path) -> None:
    makefile = "t:\n\t@seq 100; echo 'error[E0425]: cannot find value' >&2; false\n"
    status, output = Run(tmp_path, makefile, "[t]\n").end()
    assert status == 1
    assert "error[E0425]: cannot find value" in output
    assert "\n50\n" in output
    assert "\n30\n" not in output
    assert "=== failed; repeat it by: make t\n" in output
    assert "failed: make t: make: *** [Makefile:2: t] Error 1" in output
