"""Runs the blocks of a page in order, like a reader: with one folder, broker and Python process.

A page's `localhost:9092` stands for the reader's broker. The test's broker uses a free port, so the
address is replaced in each block before it runs, and replaced back in its output.
"""

import ast
import io
import os
import re
from contextlib import chdir, nullcontext, redirect_stdout
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import streamlog
from pages import loops
from pages.blocks import Block
from pages.shell import Command, Shell, commands
from py.support.broker import BrokerProcess

_SHOWN = "127.0.0.1:9092"
_ADDRESSES = re.compile(r"\b(localhost|(\d+\.){3}\d+):9092\b")
_FILE_NAME = re.compile(r"# ([\w.-]+\.\w+)\n")
_CHECKED = ("toml", "properties")
_ANY_LINES = re.compile(r"(^|\n)\.\.\.(\n|$)")
_CLOSABLE = (streamlog.Consumer, streamlog.Producer, streamlog.Client, streamlog.Broker)
_TEST = re.compile(r"^def test_", re.MULTILINE)


class Session:
    """A run of a page's blocks."""

    def __init__(self, folder: Path, page: list[Block], programs: Path | None = None) -> None:
        """Works in `folder`; starts a broker for pages that do not start one themselves.

        Python blocks run in this process, so that names persist from block to block; or, block by
        block, with the interpreter among the `programs` of another environment.
        """
        self._folder = folder
        self._page = page
        self._is_elsewhere = programs is not None
        self._shell = Shell(folder, programs)
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._address: str | None = None
        self._broker: BrokerProcess | None = None

    def follow(self) -> None:
        """Runs all blocks in order."""
        with self:
            if not any(map(_starts_broker, self._page)):
                self._broker = BrokerProcess(self._folder / "streamlog-data").start()
                self._use(self._broker.address)
            for block in self._page:
                try:
                    self._follow(block)
                except BaseException as error:
                    error.add_note(f"in the block at {block.place}")
                    raise

    def _follow(self, block: Block) -> None:
        """Runs a block, and compares its output with the expected one."""
        name = _FILE_NAME.match(block.text)
        if name is not None:
            text = self._real(block.text) if block.language != "console" else block.text
            (self._folder / name[1]).write_text(text)
        if block.language == "console":
            for command in commands(block.text):
                self._type(command)
        elif block.language in _CHECKED:
            self._check(block)
        elif name is None:
            self._run(block)

    def _type(self, command: Command) -> None:
        if command.starts_broker:
            line = re.sub(r"--listen \S+", "", command.line) + " --listen 127.0.0.1:0"
            printed = self._shell.start_broker(line)
            self._use(printed.removeprefix("ready ").strip())
        elif command.is_interrupted:
            lines = command.output.count("\n") - 1
            printed = self._shell.run_and_interrupt(self._real(command.line), lines) + "^C\n"
        else:
            printed = self._shell.run(self._real(command.line))
        if command.output:
            self._compare(command.output, printed)

    def _check(self, block: Block) -> None:
        if "[context." in block.text:
            contexts = self._folder / "contexts.toml"
            contexts.write_text(self._real(block.text))
            self._shell.run(f"STREAMLOG_CONFIG={contexts} streamlog cluster status")
        elif "[sink." in block.text:
            job = self._folder / "pipeline.toml"
            job.write_text(self._real(block.text))
            self._shell.run(f"streamlog pipeline validate {job}")
        else:
            settings = self._folder / f"settings.{block.language}"
            settings.write_text(block.text)
            self._shell.run(f"streamlog config check {settings}")

    def _run(self, block: Block) -> None:
        source = self._real(block.text)
        if _TEST.search(source):
            (self._folder / "test_example.py").write_text(source)
            printed = self._shell.run("python -m pytest -q -p no:cacheprovider test_example.py")
        elif self._is_elsewhere:
            (self._folder / "example.py").write_text(source)
            printed = self._shell.run("python example.py")
        else:
            printed = self._execute("\n" * (block.line - 1) + source, block.page)
        if block.output is not None:
            self._compare(block.output, printed)

    def _execute(self, source: str, page: str) -> str:
        printed = io.StringIO()
        has_loop = any(isinstance(node, ast.For) for node in ast.walk(ast.parse(source)))
        watching = loops.ended() if has_loop else nullcontext()
        with chdir(self._folder), redirect_stdout(printed), watching:
            exec(compile(source, page, "exec"), self._names)
        return printed.getvalue()

    def _real(self, text: str) -> str:
        """Returns the text with the address of the running broker."""
        return _ADDRESSES.sub(self._address or _SHOWN, text)

    def _use(self, address: str) -> None:
        self._address = address
        self._shell.environment["STREAMLOG_BOOTSTRAP"] = address
        os.environ["STREAMLOG_BOOTSTRAP"] = address

    def _compare(self, wanted: str, got: str) -> None:
        wanted = _ANY_LINES.sub("...", _ADDRESSES.sub(_SHOWN, wanted))
        got = got.replace(self._address or _SHOWN, _SHOWN)
        is_same = OutputChecker().check_output(wanted, got, ELLIPSIS | NORMALIZE_WHITESPACE)
        assert is_same, f"it is said to print\n{wanted}\nand prints\n{got}"

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops the processes that the page has started."""
        for value in self._names.values():
            if isinstance(value, _CLOSABLE):
                value.close()
        os.environ.pop("STREAMLOG_BOOTSTRAP", None)
        self._shell.stop_brokers()
        if self._broker is not None:
            self._broker.kill()


def _starts_broker(block: Block) -> bool:
    found = commands(block.text) if block.language == "console" else ()
    return any(command.starts_broker for command in found)
