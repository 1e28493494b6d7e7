"""Values that Python drops while an exception leaves the loop that used them."""

import subprocess
import sys

import pytest

from py.support.broker import BrokerProcess
from streamlog import Client

HEAD = """
import sys, streamlog
address, topic = sys.argv[1:]
client = streamlog.connect(address)
"""
LOOPS = {
    "consumer": "for _ in client.consumer(topic, group=topic):",
    "take": "for _ in client.consumer(topic, group=topic).take(5):",
    "until_end": "for _ in client.consumer(topic, group=topic).until_end():",
    "batches": "for _ in client.consumer(topic, group=topic).batches():",
    "streams": "for _ in client.consumer(topic, group=topic).streams(1)[0]:",
    "arrow": "for _ in client.consumer(topic, group=topic).arrow():",
    "without a group": "for _ in client.consumer(topic):",
    "work queue": "for _ in streamlog.WorkQueue(client, topic, group=topic):",
    "producer": "for _ in [client.producer().send(topic, b'x')]:",
    "broker": "for _ in [streamlog.Broker().address]:",
}
RAISE = "raise RuntimeError('the reason')"
CAUGHT = """
except BaseException as error:
    print("caught", repr(error))
"""


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def program(form: str, loop: str, statement: str) -> str:
    """Returns a program whose loop ends by the statement, in one of the forms."""
    body = f"{loop}\n    {statement}\n"
    match form:
        case "script":
            return HEAD + body
        case "function":
            return f"{HEAD}def work():\n{indented(body)}\ntry:\n    work(){CAUGHT}"
        case "generator":
            function = f"def work():\n{indented(loop)}        yield\n"
            return f"{HEAD}{function}\ntry:\n    for _ in work():\n        {statement}{CAUGHT}"
        case _:
            return f"{HEAD}try:\n{indented(body)}{CAUGHT}"


@pytest.mark.parametrize("form", ["script", "function", "try", "generator"])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_the_exception_that_ends_a_loop_is_the_one_that_is_raised(
    shared_broker: BrokerProcess, client: Client, topic: str, form: str, loop: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    client.producer().send(topic, b"x").result()
    address = shared_broker.address
    for statement in (RAISE, "sys.exit(7)"):
        command = [sys.executable, "-X", "faulthandler", "-c", program(form, loop, statement)]
        done = subprocess.run(
            [*command, address, topic], capture_output=True, text=True, timeout=25, check=False
        )
        said = done.stdout + done.stderr
        if form != "script":
            expected = "RuntimeError('the reason')" if statement == RAISE else "SystemExit(7)"
            assert (done.returncode, done.stdout) == (0, f"caught {expected}\n"), said
        elif statement == RAISE:
            assert done.returncode == 1
            assert "RuntimeError: the reason" in done.stderr
        else:
            assert (done.returncode, said) == (7, "")
