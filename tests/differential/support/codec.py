"""Messages as bytes and back, by Kafka's definitions.

Bytes and ids are texts of hexadecimal digits once decoded. A field that a version does not have is
not sent, and one that is not given has its default.
"""

import struct

from differential.support.schemas import Api, Field
from interop.support.records import Json

NUMBERS = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
    "bool": ">?",
}
API_VERSIONS = 18
CLIENT = "differential"


class Encoder:
    """Writes one message in one version."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        """Starts with nothing written."""
        self.version = version
        self.flexible = flexible
        self.out = bytearray()

    def struct(self, fields: tuple[Field, ...], values: Json) -> None:
        """The fields of this version in their order, then the tagged ones that are given."""
        if unknown := values.keys() - {field.name for field in fields}:
            raise KeyError(f"no such fields: {sorted(unknown)}")
        tagged = []
        for field in fields:
            if self.version in field.tagged:
                if field.name in values:
                    tagged.append(field)
            elif self.version in field.versions:
                self.field(field, values.get(field.name, field.default))
        if self.flexible:
            self.tags(tagged, values)

    def tags(self, fields: list[Field], values: Json) -> None:
        """The section of tagged fields."""
        self.uvarint(len(fields))
        for field in fields:
            inner = Encoder(self.version, flexible=True)
            inner.field(field, values[field.name])
            assert field.tag is not None
            self.uvarint(field.tag)
            self.uvarint(len(inner.out))
            self.out += inner.out

    def field(self, field: Field, value: object) -> None:
        """A field's value, which may be an array."""
        if not field.is_array:
            self.value(field, value)
        elif value is None:
            self.length(None, ">i")
        else:
            assert isinstance(value, list), f"{field.name} is an array, not {value!r}"
            self.length(len(value), ">i")
            for element in value:
                self.value(field, element)

    def value(self, field: Field, value: object) -> None:
        """One value."""
        if field.kind in NUMBERS:
            self.out += struct.pack(NUMBERS[field.kind], value)
        elif field.kind == "uuid":
            self.out += bytes.fromhex(str(value))
        elif field.kind == "struct":
            if self.version in field.nullable and not field.is_array:
                self.out += struct.pack(">b", -1 if value is None else 1)
            if value is not None:
                assert isinstance(value, dict), f"{field.name} is a struct, not {value!r}"
                self.struct(field.fields, value)
        else:
            data = value.encode() if isinstance(value, str) else value
            assert isinstance(data, bytes | None), f"{field.name} is bytes or text, not {value!r}"
            self.length(None if data is None else len(data), _length_format(field))
            self.out += data or b""

    def length(self, length: int | None, fixed: str) -> None:
        """The length of what follows; None is null."""
        if self.flexible:
            self.uvarint(0 if length is None else length + 1)
        else:
            self.out += struct.pack(fixed, -1 if length is None else length)

    def uvarint(self, number: int) -> None:
        """Seven bits a byte, the lowest first."""
        while number > 0x7F:
            self.out.append(number & 0x7F | 0x80)
            number >>= 7
        self.out.append(number)


class Decoder:
    """Reads one message in one version."""

    def __init__(self, data: bytes, version: int, *, flexible: bool) -> None:
        """Starts at the first byte."""
        self.data = data
        self.position = 0
        self.version = version
        self.flexible = flexible

    def take(self, length: int) -> bytes:
        """The next bytes.

        Raises:
            ValueError: There are not so many.
        """
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ValueError(f"{length} bytes at {self.position} of {len(self.data)}")
        taken, self.position = self.data[self.position : end], end
        return taken

    def struct(self, fields: tuple[Field, ...]) -> Json:
        """A struct with all fields of this version, the tagged ones that are absent included."""
        values: Json = {}
        for field in fields:
            if self.version in field.tagged:
                values[field.name] = field.default
            elif self.version in field.versions:
                values[field.name] = self.field(field)
        if self.flexible:
            self.tags(fields, values)
        return values

    def tags(self, fields: tuple[Field, ...], values: Json) -> None:
        """The section of tagged fields; Kafka's definitions have to know each of them."""
        tagged = {field.tag: field for field in fields if self.version in field.tagged}
        for _ in range(self.uvarint()):
            field = tagged[self.uvarint()]
            inner = Decoder(self.take(self.uvarint()), self.version, flexible=True)
            values[field.name] = inner.field(field)
            inner.end()

    def field(self, field: Field) -> object:
        """A field's value, which may be an array."""
        if not field.is_array:
            return self.value(field)
        length = self.length(">i")
        return None if length is None else [self.value(field) for _ in range(length)]

    def value(self, field: Field) -> object:
        """One value."""
        if field.kind in NUMBERS:
            fixed = NUMBERS[field.kind]
            return struct.unpack(fixed, self.take(struct.calcsize(fixed)))[0]
        if field.kind == "uuid":
            return self.take(16).hex()
        if field.kind == "struct":
            is_nullable = self.version in field.nullable and not field.is_array
            return None if is_nullable and self.take(1) == b"\xff" else self.struct(field.fields)
        length = self.length(_length_format(field))
        data = None if length is None else self.take(length)
        return data.decode() if data is not None and field.kind == "string" else _hex(data)

    def length(self, fixed: str) -> int | None:
        """The length of what follows; None is null."""
        if self.flexible:
            length = self.uvarint() - 1
        else:
            length = struct.unpack(fixed, self.take(struct.calcsize(fixed)))[0]
        return None if length == -1 else length

    def uvarint(self) -> int:
        """Seven bits a byte, the lowest first."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def end(self) -> None:
        """Everything was read.

        Raises:
            ValueError: There are bytes left.
        """
        if left := len(self.data) - self.position:
            raise ValueError(f"{left} bytes behind the end")


def _length_format(field: Field) -> str:
    return ">h" if field.kind == "string" else ">i"


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def encode_request(api: Api, version: int, correlation_id: int, body: Json) -> bytes:
    """A request with its header, without its length."""
    message = api.request
    encoder = Encoder(version, flexible=version in message.flexible)
    encoder.out += struct.pack(">hhih", api.key, version, correlation_id, len(CLIENT))
    encoder.out += CLIENT.encode()
    if encoder.flexible:
        encoder.uvarint(0)
    encoder.struct(message.fields, body)
    return bytes(encoder.out)


def decode_answer(api: Api, version: int, correlation_id: int, data: bytes) -> Json:
    """An answer, of which every byte must have its meaning.

    Raises:
        ValueError: It is no answer to this request in this version.
    """
    message = api.response
    if api.key == API_VERSIONS and data[4:6] == b"\x00\x23":
        # Who does not serve the version answers so, and in the one that everybody reads.
        version = 0
    decoder = Decoder(data, version, flexible=version in message.flexible)
    found = struct.unpack(">i", decoder.take(4))[0]
    if found != correlation_id:
        raise ValueError(f"an answer to {found}, not to {correlation_id}")
    if decoder.flexible and api.key != API_VERSIONS:
        decoder.tags((), {})
    answer = decoder.struct(message.fields)
    decoder.end()
    return answer
