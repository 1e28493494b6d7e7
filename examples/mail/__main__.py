"""Runs all commands in order, with a separate broker.

python -m mail                       a generated mailbox
python -m mail /some/folder          your mails: a folder of .eml files, or an mbox, which is
                                     not changed
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import streamlog
from mail import config

FOLDER = Path("target/mail")
PARSERS = 2
READ_SECONDS = 1800.0


def command(name: str, *arguments: str | Path) -> "subprocess.Popen[bytes]":
    """Starts a command."""
    return subprocess.Popen([sys.executable, "-m", f"mail.{name}", *arguments])


def done(name: str, *arguments: str | Path) -> None:
    """Runs a command to its end, and exits if it fails."""
    code = command(name, *arguments).wait()
    if code != 0:
        raise SystemExit(f"mail.{name} ended with {code}")


def stopped(process: "subprocess.Popen[bytes]") -> None:
    """Stops a service, which finishes its current work."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()


def wait_until_read(
    client: streamlog.Client, settings: config.Config, parsers: "list[subprocess.Popen[bytes]]"
) -> None:
    """Waits until the parsers have committed all stored mails."""
    names = [settings.topics.mails, settings.topics.attachments]
    ends = {
        (name, partition): end
        for name in names
        for partition, end in client.admin.end_offsets(name).items()
        if end
    }
    group = client.admin.group(settings.parser.group)
    deadline = time.monotonic() + READ_SECONDS
    while any((group.committed().get(place) or 0) < end for place, end in ends.items()):
        if any(parser.poll() is not None for parser in parsers):
            raise SystemExit("a parser has ended")
        if time.monotonic() > deadline:
            raise SystemExit(f"the parsers have not read everything in {READ_SECONDS:.0f} s")
        time.sleep(0.2)


def main() -> int:
    """Runs everything in the folder target/mail."""
    given = [Path(argument).resolve() for argument in sys.argv[1:]]
    settings = config.read(config.DEFAULT)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with ExitStack() as stack:
        broker = stack.enter_context(streamlog.Broker(FOLDER / "data"))
        os.environ["STREAMLOG_BOOTSTRAP"] = broker.address
        print(f"broker    {broker.address}", flush=True)
        done("generator", *(["--mails", "0"] if given else []))
        if given:
            Path(settings.generator.ledger).unlink()
        for path in given:
            done("inlet", path, "--once")
        if not given:
            done("inlet", "--once")
        parsers = [command("parser") for _ in range(PARSERS)]
        for parser in parsers:
            stack.callback(stopped, parser)
        client = stack.enter_context(broker.connect())
        wait_until_read(client, settings, parsers)
        while parsers:
            stopped(parsers.pop())
        done("pipeline")
        return command("report").wait()


if __name__ == "__main__":
    sys.exit(main())
