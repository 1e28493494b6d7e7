"""Type variables of values and keys, with defaults that only type checkers know."""

from types import GenericAlias
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    V = TypeVar("V", covariant=True, default=bytes | None)
    K = TypeVar("K", covariant=True, default=Any)

    class Typed(Generic[V, K]):
        """A class with the types of values and keys."""
else:
    from typing import TypeVar

    V = TypeVar("V", covariant=True)
    K = TypeVar("K", covariant=True)

    class Typed:
        """A class with the types of values and keys."""

        __class_getitem__ = classmethod(GenericAlias)


__all__ = ["K", "Typed", "V"]
