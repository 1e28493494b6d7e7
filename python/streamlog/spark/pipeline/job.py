"""A job: its file, read and validated as a whole before anything starts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from streamlog.errors import ConfigError
from streamlog.spark.durations import Duration
from streamlog.spark.options import default_bootstrap
from streamlog.spark.pipeline.section import Page, Section, hint
from streamlog.spark.pipeline.sink import Sink
from streamlog.spark.pipeline.source import Source, located
from streamlog.spark.pipeline.step import Step

__all__ = ["Job", "Stream"]

_TRIGGERS = ("once", "available-now")


@dataclass(frozen=True)
class Stream:
    """The settings of a streaming job."""

    trigger: str
    """``once``, ``available-now``, or an interval such as ``10 seconds``."""
    checkpoint: str
    """The folder in which each sink has a checkpoint under its name."""
    display: str
    """The checkpoint folder for display, without the values of variables."""

    @classmethod
    def read(cls, section: Section, folder: Path) -> "Stream":
        """Reads the table `stream`."""
        trigger = _trigger(section)
        checkpoint = section.text("checkpoint", is_needed=True)
        place = located(checkpoint, folder) if checkpoint else ""
        section.end()
        return cls(trigger, place, "".join(section.display("checkpoint", place)))


def _trigger(section: Section) -> str:
    trigger = section.text("trigger", "0 seconds")
    if trigger in _TRIGGERS:
        return trigger
    try:
        return Duration.of(trigger, beside="'once', 'available-now' or ").text
    except ConfigError as error:
        section.fault(f"{error}{hint(trigger, _TRIGGERS)}", "trigger")
        return trigger


@dataclass(frozen=True)
class Job:
    """A pipeline: its sources, steps and sinks in the order of the file."""

    name: str
    master: str
    stream: Stream | None
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    sinks: tuple[Sink, ...]
    spark: dict[str, str] = field(default_factory=dict)
    """Settings of Spark."""

    @classmethod
    def of(cls, path: Path) -> "Job":
        """Reads a job's file.

        Raises:
            ConfigError: It cannot be read or is invalid: one line for each fault.
        """
        return cls.read(Page.of(path), path.parent, path.stem)

    @classmethod
    def read(cls, page: Page, folder: Path, name: str = "job") -> "Job":
        """Reads a parsed file; paths in it are relative to the folder.

        Raises:
            ConfigError: It is invalid: one line for each fault.
        """
        root = page.root()
        bootstrap = root.text("bootstrap", default_bootstrap())
        table = root.table("stream")
        stream = None if table is None else Stream.read(table, folder)
        is_stream = stream is not None
        sources = [
            Source.read(each, folder, bootstrap, is_stream) for each in root.tables("source")
        ]
        steps = [Step.read(each, folder) for each in root.tables("step")]
        sinks = [Sink.read(each, folder, bootstrap, is_stream) for each in root.tables("sink")]
        job = cls(
            name=root.text("name", name),
            master=root.text("master", "local[*]"),
            stream=stream,
            sources=tuple(sources),
            steps=tuple(steps),
            sinks=(*sinks, *_letters(sources, steps, bootstrap)),
            spark=root.settings("spark"),
        )
        root.end()
        _check(job, page)
        page.check()
        return job

    @property
    def is_on_connect(self) -> bool:
        """True if it runs on a Spark Connect server."""
        return self.master.startswith("sc://")

    @property
    def clusters(self) -> set[str]:
        """The addresses of the brokers of its topics."""
        options = [each.options for each in self.sources] + [each.options for each in self.sinks]
        return {each["bootstrap"] for each in options if "bootstrap" in each}

    @property
    def where(self) -> str:
        """Its master for display, without the token for a Spark Connect server."""
        return self.master.partition("/;")[0] if self.is_on_connect else self.master

    @property
    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """The rows of a plan: kind, name, the views used, and a summary."""
        for source in self.sources:
            yield "source", source.name, "stream" if source.is_stream else "table", str(source)
        for step in self.steps:
            yield "step", step.name, ", ".join(step.inputs) or "sql", str(step)
        for sink in self.sinks:
            yield "sink", sink.name, sink.view, str(sink)


def _letters(sources: list[Source], steps: list[Step], bootstrap: str) -> Iterator[Sink]:
    """Returns the sinks of dead letters, which the file does not list."""
    views: list[Source | Step] = [*sources, *steps]
    for each in views:
        decoding = each.decoding
        if decoding is not None and decoding.dead_letters is not None:
            at = (each.bootstrap if isinstance(each, Source) else None) or bootstrap
            topic = decoding.dead_letters
            yield Sink(
                name=f"{each.name}.dead_letters",
                place=each.place,
                kind="topic",
                view=each.name,
                where=topic,
                display=topic,
                options={"bootstrap": at, "topic": topic},
                are_letters=True,
            )


def _check(job: Job, page: Page) -> None:
    """Checks that names are unique, and refer to preceding views."""
    if not job.sources:
        page.fault(("source",), "there is none: [source.NAME] says where rows come from")
    if not job.sinks:
        page.fault(("sink",), "there is none: [sink.NAME] says where rows go")
    known = _check_views(job, page)
    for sink in job.sinks:
        if sink.view and sink.view not in known and not sink.are_letters:
            message = f"no view is called '{sink.view}'{hint(sink.view, known)}"
            page.fault(("sink", sink.name, "from"), message)
    _check_sinks(job, page)


def _check_views(job: Job, page: Page) -> list[str]:
    known: list[str] = []
    for kind, views in (("source", job.sources), ("step", job.steps)):
        for view in views:
            path = (kind, view.name)
            if not view.name.isidentifier():
                page.fault(path, "expected a name of letters, digits and _: SQL calls it so")
            if view.name in known:
                page.fault(path, "a view of this name is there already")
            elif other := _same(view.name, known):
                page.fault(path, f"SQL takes it for '{other}', a view that is there already")
            for name in view.inputs if isinstance(view, Step) else ():
                if name and name not in known:
                    page.fault(path, f"no view before it is called '{name}'{hint(name, known)}")
            known.append(view.name)
    return known


def _check_sinks(job: Job, page: Page) -> None:
    """Checks the names of sinks: they name checkpoints, in file systems that may ignore case."""
    letters = [sink.name for sink in job.sinks if sink.are_letters]
    known: list[str] = []
    for sink in job.sinks:
        if sink.are_letters:
            continue
        path = ("sink", sink.name)
        if "/" in sink.name:
            page.fault(path, "a name has no /: its checkpoint is a folder")
        if _same(sink.name, letters):
            page.fault(path, "the sink of dead letters has this name")
        elif other := _same(sink.name, known):
            message = f"its checkpoint may be that of '{other}', a sink that is there already"
            page.fault(path, message)
        known.append(sink.name)


def _same(name: str, known: list[str]) -> str | None:
    """Returns the name that differs at most in case, if there is one."""
    return next((other for other in known if other.casefold() == name.casefold()), None)
