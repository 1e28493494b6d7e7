"""Flushes that fail."""

from faults.stage import Fault, Stage


def fail_flush(stage: Stage) -> str:
    """Fails a flush of the leader's log with EIO: its broker stops, the others go on."""
    number = stage.leader()
    broker, faults = stage.broker(number), stage.tools(number).faults
    skip = stage.random.randrange(20)
    faults.set(f"sync */faults-*/*.log EIO skip={skip} times=1")
    code = broker.await_end()
    assert code != 0, "the broker has ended as if nothing had been"
    assert faults.struck(), "no flush has failed"
    faults.set()
    effect = stage.await_without(number)
    broker.start()
    return f"{faults.struck()[-1].split()[0]} failed, exit code {code}; {effect}"


FAULTS = (Fault("failed-flush", 12, fail_flush, tools=True),)
