"""The comparison itself is correct: it finds differences and reads complete frames."""

import re

import pytest

from differential.support.batches import batch, shown
from differential.support.codec import Decoder, Encoder
from differential.support.comparison import CLOSED, Difference, compared
from differential.support.differences import Known, known_differences
from differential.support.kafka import clients_jar
from differential.support.page import Compared, section
from differential.support.schemas import Api, Field, read_apis
from interop.support.records import Json


@pytest.fixture(scope="module")
def apis() -> dict[int, Api]:
    """Kafka's own definitions."""
    return read_apis(clients_jar())


def example(field: Field, version: int) -> object:
    """Some value of a field that is not its default."""
    if field.is_array:
        return [one_of(field, version), one_of(field, version)]
    return one_of(field, version)


def one_of(field: Field, version: int) -> object:
    match field.kind:
        case "struct":
            return {
                inner.name: example(inner, version)
                for inner in field.fields
                if version in inner.versions
            }
        case "string":
            return "ä text"
        case "bytes" | "records":
            return b"\1\2".hex()
        case "uuid":
            return "7f" * 16
        case "bool":
            return True
        case "float64":
            return 0.5
        case _:
            return 77


def sendable(value: object) -> object:
    """A decoded value as an encoder takes it: bytes are no text then."""
    if isinstance(value, dict):
        return {name: sendable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [sendable(inner) for inner in value]
    return b"\1\2" if value == "0102" else value


def test_every_message_of_every_version_is_read_as_it_was_written(apis: dict[int, Api]) -> None:
    messages = [message for api in apis.values() for message in (api.request, api.response)]
    assert len(messages) > 100
    for message in messages:
        for version in message.versions:
            flexible = version in message.flexible
            served = message.versions
            root = Field("", "struct", False, served, served, served, None, {}, message.fields)
            values = one_of(root, version)
            body = sendable(values)
            assert isinstance(body, dict)
            encoder = Encoder(version, flexible=flexible)
            encoder.struct(message.fields, body)
            decoder = Decoder(bytes(encoder.out), version, flexible=flexible)
            assert decoder.struct(message.fields) == values, f"{message.name} {version}"
            decoder.end()


def test_a_field_that_differs_is_named_with_its_element() -> None:
    kafka: Json = {"topics": [{"name": "a", "errorCode": 0}, {"name": "b", "errorCode": 3}]}
    streamlog: Json = {"topics": [{"name": "b", "errorCode": 5}, {"name": "a", "errorCode": 0}]}
    assert list(compared(kafka, streamlog)) == [Difference("topics[b].errorCode", 3, 5)]


def test_an_element_that_is_missing_is_a_difference() -> None:
    one: Json = {"keys": [{"apiKey": 1}]}
    assert [found.field for found in compared(one, {"keys": []})] == ["keys[1]"]
    assert [found.field for found in compared({"ids": [1, 2]}, {"ids": [1]})] == ["ids[1]"]


def test_of_a_masked_field_only_its_presence_counts() -> None:
    assert not list(compared({"memberId": "x"}, {"memberId": "y"}))
    assert list(compared({"memberId": "x"}, {"memberId": ""})) == [
        Difference("memberId", "<id>", "")
    ]


def test_a_closed_connection_is_one_difference() -> None:
    assert list(compared(CLOSED, {"a": 1, "b": 2})) == [Difference("connection", "closed", "open")]
    assert not list(compared(CLOSED, CLOSED))


def test_batches_are_compared_field_by_field() -> None:
    one, other = (batch([b"a"], partitionLeaderEpoch=epoch).hex() for epoch in (0, 1))
    assert list(compared({"records": one}, {"records": other})) == [
        Difference("records[0].partitionLeaderEpoch", 0, 1)
    ]
    assert shown(batch([b"a"]) + b"cut")[1] == {"bytesOfAnother": 3}


def test_a_known_difference_covers_what_it_describes_and_no_more() -> None:
    known = Known("Fetch", "topics[*].errorCode", "why", kafka="3", streamlog="*")
    assert known.covers("Fetch", "anything", ("topics[a].errorCode", 3, 5))
    assert not known.covers("Fetch", "anything", ("topics[a].errorCode", 4, 5))
    assert not known.covers("Fetch", "anything", ("topics[a].name", 3, 5))
    assert not known.covers("Produce", "anything", ("topics[a].errorCode", 3, 5))


def test_a_row_with_names_covers_these_alone() -> None:
    known = Known("ApiVersions", "apiKeys[{name}]", "why", name="17")
    assert known.covers("ApiVersions", "anything", ("apiKeys[17]", 3, 5))
    assert not known.covers("ApiVersions", "anything", ("apiKeys[18]", 3, 5))
    assert not known.covers("ApiVersions", "anything", ("apiKeys[17].maxVersion", 3, 5))


def test_no_row_stands_for_apis_features_or_settings_that_it_does_not_name() -> None:
    wide = re.compile(r"(apiKeys|Features|configs|synonyms)(\[[^\]]*)?\*")
    assert [known.field for known in known_differences() if wide.search(known.field)] == []


def test_the_page_has_a_row_for_each_reason() -> None:
    table = [Known("A", "x", "why"), Known("A", "y", "why", asked="so"), Known("B", "x", "else")]
    table += [Known("C", "s[{name}]", "named", name=name) for name in ("a", "b")]
    page = section(Compared("4", {"A": "0 to 1", "B": "2 to 2"}), table)
    assert "| A | `x`, `y` | always, so | why |\n| B | `x` | always | else |\n" in page
    assert "| C | `s[{name}]` for `a`, `b` | always | named |\n" in page
    assert "Compared were: A 0 to 1, B 2 to 2." in page
