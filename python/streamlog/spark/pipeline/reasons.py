"""What an error says, without the plans and the stacks that Spark's go on with."""

from itertools import dropwhile, takewhile

from streamlog.errors import StreamlogError

__all__ = ["is_of_spark", "lines_of", "raised_of", "reason_of"]

_STACK = "Traceback (most recent call last):"
_BRIDGE = "An error occurred while"
"""How the bridge to Java says which of its objects was called, before it says what is wrong."""


def is_of_spark(error: Exception) -> bool:
    """Whether Spark refuses or has failed, which is not a fault of this code."""
    return any(kind.__module__.startswith(("pyspark.", "py4j.")) for kind in type(error).__mro__)


def lines_of(error: Exception) -> list[str]:
    """The lines of its message; what a Python process of Spark raised comes first."""
    text = str(error).strip()
    raised = raised_of(error)
    if not raised:
        return text.splitlines()
    return [*raised, text.partition(_STACK)[0].splitlines()[0].strip()]


def raised_of(error: Exception) -> list[str]:
    """The lines of what a Python process of Spark raised; none where the error is not of one."""
    text = str(error).strip()
    if _STACK not in text:
        return []
    # The last stack is that of the error itself, those before it are of what led to it.
    below = text.rpartition(_STACK)[2].splitlines()
    raised = dropwhile(lambda line: not line or line.startswith(" "), below)
    told = takewhile(lambda line: not line.startswith(("\tat ", " SQLSTATE")), raised)
    return list(filter(None, told))


def reason_of(error: Exception) -> str:
    """What is wrong in a line; of an error of this package in as many as it has."""
    if isinstance(error, StreamlogError):
        return str(error).strip()
    lines = [line.lstrip(": ") for line in lines_of(error)] or [type(error).__name__]
    is_behind = lines[0].startswith(_BRIDGE) and len(lines) > 1
    return lines[1] if is_behind else lines[0]
