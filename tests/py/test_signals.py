"""Signals end every call that waits, at any moment, and still reach other handlers.

A signal just before a thread falls asleep does not interrupt the sleep, so it has to be noticed in
another way.
"""

import signal
import socket
import subprocess
import sys

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.support.signals import signalled_while_waiting
from streamlog import Client

REPETITIONS = 200

CTRL_C_SECONDS = 0.01
"""The usual maximum; a busy machine may take longer now and then."""
LATE_SECONDS = 5.0

CALLS = {
    "iterator": "next(consumer)",
    "arrow": "next(consumer.arrow())",
    "batches": "next(consumer.batches())",
    "take": "list(consumer.take(1, timeout=20))",
    "result": "ticket.result(20)",
    "send": "while True: full.send(topic, b'x' * 900, partition=0)",
    "flush": "producer.flush(20)",
    "admin": "client.admin.topics()",
    "connect": "streamlog.connect(address, timeout=20)",
}
"""Every kind of waiting call. The broker does not answer meanwhile."""

PROGRAM = """
import os, random, signal, statistics, sys, threading, time
import streamlog

address, topic, repetitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = streamlog.connect(address, timeout=20)
producer = client.producer()
full = client.producer(buffer="64 KiB", batch_size="16 KiB", send_timeout=20)
consumer = client.consumer(topic, create_topics=True)
for sender in (producer, full):
    sender.send(topic, b"", partition=0).result(10)
    next(consumer)
print("connected", flush=True)
sys.stdin.readline()
ticket = producer.send(topic, b"never delivered", partition=0)

def interrupt(seconds):
    global sent
    time.sleep(seconds)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

choice = random.Random(1)
took = []
for repetition in range(repetitions):
    thread = threading.Thread(target=interrupt, args=(choice.uniform(0, 0.01),))
    try:
        thread.start()
        {call}
        print("missed", repetition, flush=True)
    except KeyboardInterrupt:
        took.append(time.monotonic() - sent)
    thread.join()
print(statistics.median(took), max(took), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_is_never_missed_and_ends_every_call_at_once(
    broker: BrokerProcess, topic: str, call: str
) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=1)
    program = PROGRAM.format(call=call)
    command = [sys.executable, "-c", program, broker.address, topic, str(REPETITIONS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "connected\n"
            with broker.silent():
                process.stdin.write("\n")
                process.stdin.flush()
                usual, longest = map(float, process.stdout.read().split())
            print(f"{usual * 1e3:.2f} ms, at most {longest * 1e3:.1f} ms")
            assert usual < CTRL_C_SECONDS
            assert longest < LATE_SECONDS
        finally:
            process.kill()


def test_a_wakeup_descriptor_set_by_the_program_still_gets_signals(
    client: Client, topic: str
) -> None:
    ours, theirs = socket.socketpair()
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    for end in (ours, theirs):
        end.setblocking(False)
    previous = signal.set_wakeup_fd(theirs.fileno())
    try:
        signalled_while_waiting(client, topic)
        assert signal.set_wakeup_fd(previous) == theirs.fileno()
        assert ours.recv(10) == bytes([signal.SIGUSR1])
    finally:
        signal.set_wakeup_fd(previous)
        signal.signal(signal.SIGUSR1, before)
        ours.close()
        theirs.close()
