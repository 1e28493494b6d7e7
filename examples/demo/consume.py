"""The consuming process: writes its records to one file for each partition.

A row is `offset TAB file TAB line number TAB line`.
"""

import contextlib
import sys
from pathlib import Path
from typing import BinaryIO

import streamlog


def consume(address: str, topic: str, folder: Path) -> None:
    """Reads until every partition has its end marker."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(streamlog.connect(address))
        files: dict[int, BinaryIO] = {
            partition: stack.enter_context((folder / f"partition-{partition}").open("wb"))
            for partition in range(client.topic(topic).partitions())
        }
        going_on = set(files)
        consumer = stack.enter_context(client.consumer(topic))
        print("reading", flush=True)
        for message in consumer:
            if message.value is None:
                going_on.remove(message.partition)
                if not going_on:
                    break
                continue
            number = dict(message.headers)["line"] or b""
            fields = [str(message.offset).encode(), message.key or b"", number, message.value]
            files[message.partition].write(b"\t".join(fields) + b"\n")


if __name__ == "__main__":
    consume(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
