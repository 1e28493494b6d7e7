"""Signals during a wait."""

import os
import signal
import subprocess
import threading
import time

from streamlog import Client

__all__ = ["interrupted", "signalled_while_waiting"]


def interrupted(process: subprocess.Popen[str]) -> float:
    """Returns the seconds from SIGINT until a waiting process reports its interruption."""
    assert process.stdout is not None
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    return time.monotonic() - begin


def signalled_while_waiting(client: Client, topic: str) -> None:
    """Waits for a record during a SIGUSR1, until the record that follows the signal."""
    producer = client.producer()

    def interrupt_and_publish() -> None:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.1)
        producer.send(topic, b"after the signal")

    thread = threading.Thread(target=interrupt_and_publish)
    try:
        with client.consumer(topic, create_topics=True) as consumer:
            thread.start()
            [message] = consumer.take(1, timeout=20)
        assert message.value == b"after the signal"
    finally:
        thread.join()
