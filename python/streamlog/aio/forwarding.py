"""Methods of asyncio classes that stand for methods of the native classes.

Their signatures and docstrings are copied from the native methods, so that both are written once.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

__all__ = ["awaited", "forwarded"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Forwarding(Protocol):
    """An object that stands for a native object."""

    def _native(self) -> object:
        """Returns the native object."""


def forwarded(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], _T]:
    """Returns a method that calls the method of the native object, which does not wait."""

    @wraps(method)
    def call(self: _Forwarding, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return method(self._native(), *args, **kwargs)

    call.__doc__ = _without_example(method)
    return call


def awaited(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Returns a method that awaits the future that the method of the native object returns.

    The stub of the native method declares the result itself, not its future, because it is also the
    stub for callers that block.
    """

    @wraps(method)
    async def call(self: _Forwarding, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await cast(Awaitable[_T], method(self._native(), *args, **kwargs))

    call.__doc__ = _without_example(method)
    return call


def _without_example(method: Callable[..., object]) -> str:
    """Returns the docstring without the example, which shows calls that block."""
    return (method.__doc__ or "").partition("\n\nExample:")[0]
