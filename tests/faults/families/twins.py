"""A second broker on a data directory in use, and one with the id of another."""

import subprocess

from faults.stage import RECORDS, Fault, Stage

END_SECONDS = 30.0


def _refused(stage: Stage, command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=END_SECONDS, check=False)
    assert done.returncode != 0, "a second broker runs"
    stage.load.await_more(RECORDS)
    return done.stderr.strip().splitlines()[-1]


def same_directory(stage: Stage) -> str:
    """Starts a second broker on a data directory in use: it ends, the first is unharmed."""
    number = stage.anyone()
    broker = stage.broker(number)
    before = stage.cluster.incarnation(number)
    reason = _refused(stage, broker.command(broker.data, "twin"))
    assert stage.cluster.incarnation(number) == before, "the first broker has lost its session"
    return f"refused: {reason.replace(str(broker.data), 'DIR')}"


def same_id(stage: Stage) -> str:
    """Starts a second broker with the id of a running one: it ends, the first is unharmed."""
    number = stage.anyone()
    broker = stage.broker(number)
    before = stage.cluster.incarnation(number)
    reason = _refused(stage, broker.command(broker.data.with_suffix(".twin"), "twin"))
    assert stage.cluster.incarnation(number) == before, "the first broker has lost its session"
    return f"refused: {reason}"


FAULTS = (
    Fault("second-on-a-directory", 20, same_directory),
    Fault("second-with-an-id", 20, same_id),
)
