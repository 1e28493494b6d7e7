"""Messages of errors, without the plans and stacks that Spark appends."""

from itertools import dropwhile, takewhile

from streamlog.errors import StreamlogError

__all__ = ["is_of_spark", "lines_of", "raised_of", "reason_of"]

_STACK = "Traceback (most recent call last):"
_BRIDGE = "An error occurred while"
"""The start of a message of the bridge to Java: the called object, before the actual error."""


def is_of_spark(error: Exception) -> bool:
    """Returns true if the error is Spark's, and so not a bug in this code."""
    return any(kind.__module__.startswith(("pyspark.", "py4j.")) for kind in type(error).__mro__)


def lines_of(error: Exception) -> list[str]:
    """Returns the lines of the message, beginning with an error raised in a Python worker."""
    text = str(error).strip()
    raised = raised_of(error)
    if not raised:
        return text.splitlines()
    return [*raised, text.partition(_STACK)[0].splitlines()[0].strip()]


def raised_of(error: Exception) -> list[str]:
    """Returns the lines of an error raised in a Python worker; empty if there is none."""
    text = str(error).strip()
    if _STACK not in text:
        return []
    # The last stack is that of the error. The earlier stacks are those of its causes.
    below = text.rpartition(_STACK)[2].splitlines()
    raised = dropwhile(lambda line: not line or line.startswith(" "), below)
    lines = takewhile(lambda line: not line.startswith(("\tat ", " SQLSTATE")), raised)
    return list(filter(None, lines))


def reason_of(error: Exception) -> str:
    """Returns the reason in one line; for errors of this package, the whole message."""
    if isinstance(error, StreamlogError):
        return str(error).strip()
    lines = [line.lstrip(": ") for line in lines_of(error)] or [type(error).__name__]
    is_behind = lines[0].startswith(_BRIDGE) and len(lines) > 1
    return lines[1] if is_behind else lines[0]
