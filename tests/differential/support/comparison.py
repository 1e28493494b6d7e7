"""Comparison of two responses: masked fields, and all other differences."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from differential.support.batches import shown
from interop.support.records import Json

NIL_UUID = bytes(16).hex()
ABSENT = "nothing"
# The answer of a broker that closes the connection instead.
CLOSED: Json = {"connection": "closed"}

Mask = Callable[[object], object]


def _set(name: str, *unset: object) -> Mask:
    """Only whether there is a value, for its own is each broker's affair."""
    return lambda value: value if value in unset else f"<{name}>"


# Fields whose values cannot be the same, and what is compared instead of them.
MASKS: dict[str, Mask] = {
    "throttleTimeMs": _set("time"),
    "clusterId": _set("id", None, ""),
    "topicId": _set("id", NIL_UUID),
    "memberId": _set("id", None, ""),
    "leader": _set("id", None, ""),
    "producerId": _set("id", -1),
    "sessionId": _set("id", 0),
    "port": _set("port", -1, 0),
    "logAppendTimeMs": _set("time", -1),
    "lastTimestamp": _set("time", -1),
    "finalizedFeaturesEpoch": _set("epoch", -1),
    "logDir": _set("path"),
    "usableBytes": _set("bytes", -1),
    # Their words are their own, and so is when they say any: clients branch on the codes.
    "errorMessage": _set("text"),
    "batchIndexErrorMessage": _set("text"),
    "documentation": _set("text", None),
}
# Elements of an array are told apart by the first of these that they have, not by their order.
KEYS = (
    ("name",),
    ("topic",),
    ("partitionIndex",),
    ("partition",),
    ("index",),
    ("apiKey",),
    ("groupId",),
    ("key",),
    ("resourceType", "resourceName"),
    ("nodeId",),
    ("brokerId",),
    ("user",),
)


@dataclass(frozen=True)
class Difference:
    """One place where the answers to one request are not the same."""

    field: str
    kafka: object
    streamlog: object


def compared(kafka: object, streamlog: object, path: str = "") -> Iterator[Difference]:
    """The differences between two decoded answers, by field."""
    if kafka != streamlog and CLOSED in (kafka, streamlog):
        yield Difference("connection", *(_state(answer) for answer in (kafka, streamlog)))
    elif isinstance(kafka, dict) and isinstance(streamlog, dict):
        for name in kafka.keys() | streamlog.keys():
            one, other = (_shown(name, fields.get(name, ABSENT)) for fields in (kafka, streamlog))
            yield from compared(one, other, f"{path}.{name}".lstrip("."))
    elif isinstance(kafka, list) and isinstance(streamlog, list):
        for label, one, other in _paired(kafka, streamlog):
            yield from compared(one, other, f"{path}[{label}]")
    elif kafka != streamlog or type(kafka) is not type(streamlog):
        yield Difference(path, kafka, streamlog)


def _state(answer: object) -> str:
    return "closed" if answer == CLOSED else "open"


def _shown(name: str, value: object) -> object:
    if name in MASKS:
        return MASKS[name](value)
    if name == "records" and isinstance(value, str):
        return shown(bytes.fromhex(value))
    if name == "members" and isinstance(value, list):
        # Their ids say nothing about their order.
        return sorted(value, key=_without_id)
    return value


def _without_id(member: Json) -> str:
    return repr({name: _shown(name, value) for name, value in member.items()})


def _paired(kafka: list[object], streamlog: list[object]) -> Iterator[tuple[str, object, object]]:
    """Elements that belong together; by key if all have different ones."""
    keyed = [_by_key(elements) for elements in (kafka, streamlog)]
    if keyed[0] is None or keyed[1] is None:
        for index, (one, other) in enumerate(zip_longest(kafka, streamlog, fillvalue=ABSENT)):
            yield str(index), one, other
    else:
        for key in keyed[0] | keyed[1]:
            yield key, keyed[0].get(key, ABSENT), keyed[1].get(key, ABSENT)


def _by_key(elements: list[object]) -> dict[str, object] | None:
    found: dict[str, object] = {}
    for element in elements:
        key = _key(element) if isinstance(element, dict) else None
        if key is None or key in found:
            return None
        found[key] = element
    return found


def _key(element: Json) -> str | None:
    for names in KEYS:
        values = [element.get(name) for name in names]
        if None not in values:
            return " ".join(map(str, values))
    return None
