"""Kafka's messages as the definitions in its own jar describe them, field by field."""

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from interop.support.records import Json

FOLDER = "common/message/"
NO_VERSION = "none"
ANY_LATER = 1 << 15


@dataclass(frozen=True)
class Versions:
    """A range of versions, both ends included; empty if the last is before the first."""

    first: int
    last: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads `3+`, `0-5`, `4` or `none`."""
        if text == NO_VERSION:
            return cls(0, -1)
        first, dash, last = text.rstrip("+").partition("-")
        if text.endswith("+"):
            return cls(int(first), ANY_LATER)
        return cls(int(first), int(last) if dash else int(first))

    def __contains__(self, version: int) -> bool:
        """Return true if a version lies within the range."""
        return self.first <= version <= self.last

    def __and__(self, other: Self) -> "Versions":
        """The intersection of both ranges."""
        return Versions(max(self.first, other.first), min(self.last, other.last))

    def __iter__(self) -> Iterator[int]:
        """Each version, in order."""
        return iter(range(self.first, self.last + 1))


@dataclass(frozen=True)
class Field:
    """A field: `kind` is a primitive's name, or `struct` for one with `fields` of its own."""

    name: str
    kind: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: object
    fields: tuple["Field", ...]


@dataclass(frozen=True)
class Message:
    """A request or an answer of one API; those that were removed have no versions."""

    name: str
    api_key: int
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Api:
    """Both messages of an API."""

    name: str
    request: Message
    response: Message

    @property
    def key(self) -> int:
        """Its number on the wire."""
        return self.request.api_key


def said(fields: tuple[Field, ...], version: int, values: Json, path: str = "") -> Iterator[str]:
    """The fields of this version to which a message gives values other than their defaults."""
    for field in fields:
        value = values.get(field.name, field.default)
        if version not in field.versions or value == field.default:
            continue
        yield path + field.name
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from said(field.fields, version, inner, f"{path}{field.name}.")


def fields_of(fields: tuple[Field, ...], versions: Versions, path: str = "") -> Iterator[str]:
    """All fields that a message has in some of these versions."""
    for field in fields:
        if any(version in field.versions for version in versions):
            yield path + field.name
            yield from fields_of(field.fields, versions, f"{path}{field.name}.")


def read_apis(clients_jar: Path) -> dict[int, Api]:
    """Every API that Kafka's own library knows, by number."""
    apis = {}
    with zipfile.ZipFile(clients_jar) as jar:
        requests = [n for n in jar.namelist() if n.startswith(FOLDER) and "Request.json" in n]
        for path in requests:
            name = path.removeprefix(FOLDER).removesuffix("Request.json")
            request, response = _read(jar, f"{name}Request"), _read(jar, f"{name}Response")
            apis[request.api_key] = Api(name, request, response)
    return apis


def _read(jar: zipfile.ZipFile, name: str) -> Message:
    lines = jar.read(f"{FOLDER}{name}.json").decode().splitlines()
    # They are JSON with comments, each on a line of its own.
    definition = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    shared = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}
    return Message(
        name,
        definition["apiKey"],
        Versions.of(definition["validVersions"]),
        Versions.of(definition.get("flexibleVersions", NO_VERSION)),
        _fields(definition.get("fields", []), shared),
    )


def _fields(rows: list[Json], shared: dict[str, list[Json]]) -> tuple[Field, ...]:
    return tuple(_field(row, shared) for row in rows)


def _field(row: Json, shared: dict[str, list[Json]]) -> Field:
    kind = row["type"].removeprefix("[]")
    is_array = kind != row["type"]
    fields = _fields(row.get("fields") or shared.get(kind, []), shared)
    return Field(
        row["name"][0].lower() + row["name"][1:],
        "struct" if fields else kind,
        is_array,
        Versions.of(row["versions"]),
        Versions.of(row.get("nullableVersions", NO_VERSION)),
        Versions.of(row.get("taggedVersions", NO_VERSION)),
        row.get("tag"),
        _default(row, "array" if is_array else "struct" if fields else kind),
        fields,
    )


def _default(row: Json, kind: str) -> object:
    """The value of a field that nobody sets; a struct's is the struct of its fields' defaults."""
    text = row.get("default")
    if text == "null":
        return None
    match kind:
        case "array":
            return []
        case "struct":
            return {}
        case "string":
            return text or ""
        case "bytes":
            return b""
        case "records":
            return None
        case "uuid":
            return bytes(16).hex()
        case "bool":
            return str(text).lower() == "true"
        case _:
            return int(str(text or 0), 0)
