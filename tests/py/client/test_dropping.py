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
    "node": "for _ in [streamlog.Broker(nodes=2).nodes[1].address]:",
    "client": "for _ in [streamlog.connect(address)]:",
    "read": "for _ in client.topic(topic).read():",
    "reversed": "for _ in client.topic(topic).reversed():",
    "replay": "for _ in client.topic(topic).replay(0):",
    "partition": "for _ in client.topic(topic).partition(0).read():",
    "arrow of a topic": "for _ in client.topic(topic).arrow():",
}
ASYNC_LOOPS = {
    "consumer": "async for _ in client.consumer(topic, group=topic):",
    "take": "async for _ in client.consumer(topic, group=topic).take(5):",
    "until_end": "async for _ in client.consumer(topic, group=topic).until_end():",
    "batches": "async for _ in client.consumer(topic, group=topic).batches():",
    "read": "async for _ in client.topic(topic).read():",
    "producer": "for _ in [await client.producer().send(topic, b'x')]:",
    "ticket": "for _ in [client.producer().send(topic, b'x')]:",
    "client": "for _ in [streamlog.aio.connect(address)]:",
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
        case "with":
            block = f"with streamlog.connect(address) as client:\n{indented(body)}"
            return f"{HEAD}try:\n{indented(block)}{CAUGHT}"
        case _:
            return f"{HEAD}try:\n{indented(body)}{CAUGHT}"


@pytest.fixture
def arguments(shared_broker: BrokerProcess, client: Client, topic: str) -> list[str]:
    """The address of a broker, and a topic with a record."""
    client.admin.create_topic(topic, partitions=1)
    client.producer().send(topic, b"x").result()
    return [shared_broker.address, topic]


def run(text: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", "-c", text, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=25, check=False)


@pytest.mark.parametrize("form", ["script", "function", "try", "with", "generator"])
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_the_exception_that_ends_a_loop_is_the_one_that_is_raised(
    arguments: list[str], form: str, loop: str
) -> None:
    for statement in (RAISE, "sys.exit(7)"):
        done = run(program(form, loop, statement), arguments)
        said = done.stdout + done.stderr
        if form != "script":
            expected = "RuntimeError('the reason')" if statement == RAISE else "SystemExit(7)"
            assert (done.returncode, done.stdout) == (0, f"caught {expected}\n"), said
        elif statement == RAISE:
            assert done.returncode == 1
            assert "RuntimeError: the reason" in done.stderr
        else:
            assert (done.returncode, said) == (7, "")


@pytest.mark.parametrize("loop", ASYNC_LOOPS.values(), ids=ASYNC_LOOPS)
def test_the_exception_that_ends_a_loop_of_asyncio_is_the_one_that_is_raised(
    arguments: list[str], loop: str
) -> None:
    opened = "async with streamlog.aio.connect(address) as client:"
    body = f"{loop}\n    {RAISE}\n"
    work = f"{opened}\n{indented(body)}"
    head = "import asyncio, sys, streamlog.aio\naddress, topic = sys.argv[1:]\n"
    text = f"{head}async def work():\n{indented(work)}try:\n    asyncio.run(work()){CAUGHT}"
    done = run(text, arguments)
    caught = (0, "caught RuntimeError('the reason')\n")
    assert (done.returncode, done.stdout) == caught, done.stdout + done.stderr


OTHER_ENDS = {
    "return": """
def work():
    {loop}
        return
work()
""",
    "a generator that is closed": """
def work():
    {loop}
        yield
rows = work()
next(rows)
rows.close()
""",
    "a generator that is dropped while an exception is set": """
def work():
    {loop}
        yield
try:
    rows = work()
    next(rows)
    raise KeyError("mine")
except KeyError as error:
    del rows
    assert repr(error) == "KeyError('mine')"
""",
    "a cycle that is collected": """
def work():
    {loop}
        yield
class Holder:
    pass
holder = Holder()
holder.itself, holder.rows = holder, work()
next(holder.rows)
del holder
gc.collect()
""",
    "the end of the interpreter": """
def work():
    {loop}
        yield
rows = work()
next(rows)
""",
}


@pytest.mark.parametrize("end", OTHER_ENDS.values(), ids=OTHER_ENDS)
def test_a_loop_may_end_in_other_ways(arguments: list[str], end: str) -> None:
    for name, loop in LOOPS.items():
        text = f"import gc\n{HEAD}{end.format(loop=loop)}\nprint('left')\n"
        done = run(text, arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", ""), name
