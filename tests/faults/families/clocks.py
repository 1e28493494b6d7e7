"""Wall clocks that jump by hours and years, one broker's at a time."""

import time

from faults.stage import RECORDS, TOPIC, Fault, Stage

HOUR = 3_600
YEAR = 365 * 24 * HOUR
JUMPS = (HOUR, -HOUR, YEAR, -YEAR)
STROBES = 20


def jump(stage: Stage) -> str:
    """Moves one clock back and forth; no session ends, and no record is deleted early."""
    number = stage.anyone()
    clock = stage.tools(number).clock
    before = stage.cluster.incarnation(number)
    epochs = [state.epoch for state in stage.cluster.states(TOPIC).values()]
    for ahead in JUMPS:
        clock.jump(ahead)
        stage.load.await_more(RECORDS)
    for strobe in range(STROBES):
        clock.jump(stage.random.choice(JUMPS) * (strobe % 2))
        time.sleep(0.05)
    clock.jump(YEAR)
    stage.load.await_more(RECORDS)
    assert clock.reads > 0, "nobody has read the clock meanwhile"
    assert stage.cluster.incarnation(number) == before, "a session has ended"
    after = [state.epoch for state in stage.cluster.states(TOPIC).values()]
    clock.jump(0)
    kept = "no leader changed" if after == epochs else "leaders changed"
    return f"clock of broker {number} read while ahead by up to a year; {kept}"


FAULTS = (Fault("clock-jumps", 9, jump, tools=True),)
