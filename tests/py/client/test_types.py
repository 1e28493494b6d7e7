"""The types of consumers' messages, producers' arguments and options, as type checkers see them.

Each program below is checked by mypy and by basedpyright like users' programs: lines marked
``# refused`` must be errors, and no others.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import asyncio
import json
from datetime import timedelta
from typing import TypedDict, assert_type

import streamlog
from streamlog import aio

class Order(TypedDict):
    id: int

def packed(order: Order) -> str:
    return json.dumps(order)

def unpacked(value: bytes) -> Order:
    order: Order = json.loads(value)
    return order

client = streamlog.connect("localhost:9092")
bare = client.consumer("orders")
plain = next(bare)
assert_type(plain.key, bytes | None)
assert_type(plain.value, bytes | None)
decoding = client.consumer("orders", key=bytes.decode, value=unpacked)
typed = next(decoding)
assert_type(typed.key, str | None)
assert_type(typed.value, Order | None)
skipping = client.consumer("orders", value=unpacked, tombstones="skip")
whole = next(skipping)
assert_type(whole.value, Order)
for batch in client.consumer("orders", value=unpacked, tombstones="skip").batches():
    for message in batch:
        assert_type(message.value, Order)
for read in client.topic("orders").read(value=unpacked):
    assert_type(read.value, Order | None)
client.producer().send("orders", b"x", key=b"k")
client.producer(encoding="utf-8").send("orders", "x", key="k", headers={"trace": "ab"})
client.producer(value=packed, key=str.encode).send("orders", {"id": 1}, key="k")
client.producer(value=packed).send("orders", None)
client.producer().send_all("orders", [b"x", None])
client.producer().send_all("orders", [1, 2], value=str)
client.consumer("orders", start="latest", group="g", commit="manual", on_error="skip", value=int)
client.consumer("orders", start=timedelta(hours=-1)).seek({0: "earliest"})
client.consumer("orders", value=int, on_error=streamlog.DeadLetters("dead"))

def handle(message: streamlog.Message[Order]) -> None:
    print(message.value["id"], message.header("trace"))

handle(whole)

async def main() -> None:
    async with aio.connect("localhost:9092") as client:
        async with client.consumer("orders", value=unpacked, tombstones="skip") as consumer:
            async for message in consumer:
                assert_type(message.value, Order)
                assert_type(message.key, bytes | None)
        async with client.producer(value=packed) as producer:
            await producer.send("orders", {"id": 1})

asyncio.run(main())
"""

WRONG = """
import json

import streamlog
from streamlog import aio

client = streamlog.connect("localhost:9092")

def packed(order: int) -> bytes:
    return b""

client.consumer("orders", start="earlest")  # refused
client.consumer("orders", group="g", commit="sometimes")  # refused
client.consumer("orders", value=int, on_error="dead-letter")  # refused
client.consumer("orders", on_out_of_range="first")  # refused
client.consumer("orders", tombstones="drop")  # refused
client.producer(compression="zst")  # refused
client.producer(acks=2)  # refused
client.producer(encoding="latin-1")  # refused
client.producer().send("orders", "text")  # refused
client.producer().send("orders", b"x", key="text")  # refused
client.producer(value=packed).send("orders", "text")  # refused
client.producer(encoding="utf-8").send("orders", 3)  # refused
client.producer().send_all("orders", ["text"])  # refused
next(client.consumer("orders", value=int)).value.bit_length()  # refused
next(client.consumer("orders", key=int)).key.upper()  # refused
client.consumer("orders", create_topics="yes")  # refused
client.on_event("print")  # refused

async def main(client: aio.Client) -> None:
    client.consumer("orders", start="earlest")  # refused
    client.producer(compression="zst")  # refused
    client.producer().send("orders", "text")  # refused
    client.producer(value=packed).send("orders", b"x")  # refused
    client.consumer("orders", value=int, on_error="dead-letter")  # refused
"""


def mypy(program: Path) -> set[int]:
    """Returns the lines in which mypy finds errors."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file="]
    # pyarrow has no type hints.
    command += ["--ignore-missing-imports"]
    run = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False)
    lines = re.findall(rf"{re.escape(program.name)}:(\d+): error: ", run.stdout)
    assert run.returncode == (1 if lines else 0), run.stdout + run.stderr
    return set(map(int, lines))


def basedpyright(program: Path) -> set[int]:
    """Returns the lines in which basedpyright finds errors."""
    settings = program.with_name("pyrightconfig.json")
    settings.write_text(json.dumps({"typeCheckingMode": "standard", "include": [program.name]}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(settings)]
    command += ["--pythonpath", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)["generalDiagnostics"]
    assert "summary" in run.stdout
    lines = {row["range"]["start"]["line"] + 1 for row in found if row["severity"] == "error"}
    assert run.returncode == (1 if lines else 0), run.stdout
    return lines


@pytest.mark.timeout(120)
@pytest.mark.parametrize("checker", [mypy, basedpyright], ids=lambda checker: checker.__name__)
@pytest.mark.parametrize("text", [RIGHT, WRONG], ids=["right", "wrong"])
def test_checkers_refuse_what_is_wrong_and_nothing_else(
    tmp_path: Path, checker: object, text: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(text.lstrip("\n"))
    lines = enumerate(program.read_text().splitlines(), start=1)
    expected = {number for number, line in lines if line.endswith("# refused")}
    assert callable(checker)
    assert checker(program) == expected
