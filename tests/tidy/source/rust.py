"""Just enough reading of Rust for the rules: what is code, where functions and enums are.

It works on a *mask*: the source with the insides of comments, strings and character literals
blanked, so that braces, commas and words found in it are code. Lines and columns stay where they
are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_TOKEN = re.compile(
    r"""
      (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)")
    | (?P<string>(?:\b[bc])?"(?:[^"\\]|\\.)*")
    | (?P<char>(?:\bb)?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_ENUM = re.compile(r"((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?enum\s+(\w+)[^{;]*\{")
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod\s+\w+\s*\{")
_BRACKET = re.compile(r"[(\[{}\])]")
_OPEN = "([{"
_CLOSE = ")]}"


@dataclass(frozen=True)
class Function:
    """A named function, from its `fn` to its closing brace."""

    name: str
    line: int
    lines: int
    parameters: int


@dataclass(frozen=True)
class Enum:
    """An enum with the attributes above it."""

    name: str
    line: int
    attributes: str
    cases: int


@cache
def mask(source: str) -> str:
    """The source with comments, strings and characters blanked."""
    pieces: list[str] = []
    position = 0
    while token := _TOKEN.search(source, position):
        end = _end_of(source, token)
        pieces += [source[position : token.start()], _blank(source[token.start() : end])]
        position = end
    return "".join([*pieces, source[position:]])


def _end_of(source: str, token: re.Match[str]) -> int:
    if token["raw"]:
        close = source.find('"' + token["hashes"], token.end())
        return len(source) if close < 0 else close + 1 + len(token["hashes"])
    if token["block"]:
        depth = 1
        for edge in _BLOCK_EDGE.finditer(source, token.end()):
            depth += 1 if edge[0] == "/*" else -1
            if depth == 0:
                return edge.end()
        return len(source)
    return token.end()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def closing(masked: str, opening: int) -> int:
    """The position of the bracket that closes the one at `opening`."""
    depth = 0
    for bracket in _BRACKET.finditer(masked, opening):
        depth += 1 if bracket[0] in _OPEN else -1
        if depth == 0:
            return bracket.start()
    raise ValueError(f"no bracket closes the one in line {line_of(masked, opening)}")


def line_of(text: str, position: int) -> int:
    """The number of the line at a position, from 1."""
    return text.count("\n", 0, position) + 1


def functions(masked: str) -> Iterator[Function]:
    """All named functions with a body; nested ones count by themselves and in the outer one."""
    for found in _FUNCTION.finditer(masked):
        opening = masked.index("(", _skip_generics(masked, found.end()))
        end_of_parameters = closing(masked, opening)
        parameters = items(masked[opening + 1 : end_of_parameters])
        if parameters and re.match(r"(?:&\s*)?(?:'\w+\s+)?(?:mut\s+)?self\b", parameters[0]):
            parameters = parameters[1:]
        keywords = _keywords_of_python(masked, found.start())
        parameters = [part for part in parameters if part.split(":")[0].strip() not in keywords]
        body = _body(masked, end_of_parameters + 1)
        if body is None:
            continue
        lines = masked.count("\n", found.start(), closing(masked, body)) + 1
        yield Function(found[1], line_of(masked, found.start()), lines, len(parameters))


def _keywords_of_python(masked: str, position: int) -> set[str]:
    """Names behind the `*` of the signature that the function at `position` has in Python.

    They are options, as they are in Python's own code.
    """
    above = masked[max(masked.rfind(edge, 0, position) for edge in "{};") + 1 : position]
    signature = re.search(r"\bsignature\s*=\s*\(", above)
    if signature is None:
        return set()
    arguments = items(above[signature.end() : closing(above, signature.end() - 1)])
    behind = arguments[arguments.index("*") + 1 :] if "*" in arguments else []
    return {item.split("=")[0].strip() for item in behind}


def _skip_generics(masked: str, position: int) -> int:
    """The position behind `<...>`, if that stands at `position`."""
    if masked[position : position + 1] != "<":
        return position
    depth = 0
    for edge in re.compile(r"->|<|>").finditer(masked, position):
        depth += {"<": 1, ">": -1, "->": 0}[edge[0]]
        if depth == 0:
            return edge.end()
    raise ValueError(f"generics without an end in line {line_of(masked, position)}")


def _body(masked: str, position: int) -> int | None:
    """The position of the body, or `None` for a declaration that ends in a semicolon."""
    while masked[position] not in "{;":
        position = closing(masked, position) if masked[position] in _OPEN else position
        position += 1
    return position if masked[position] == "{" else None


def items(masked: str) -> list[str]:
    """The parts between the commas that stand in no bracket, without empty ones."""
    parts = [""]
    depth = 0
    for character in masked.replace("->", "  "):
        depth += (character in _OPEN + "<") - (character in _CLOSE + ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    # An attribute on a parameter or case belongs to it.
    stripped = (re.sub(r"#\[[^\]]*\]", "", part).strip() for part in parts)
    return [part for part in stripped if part]


def enums(masked: str) -> Iterator[Enum]:
    """All enums."""
    for found in _ENUM.finditer(masked):
        opening = found.end() - 1
        cases = items(masked[opening + 1 : closing(masked, opening)])
        yield Enum(found[2], line_of(masked, found.start(2)), found[1], len(cases))


def without_test_modules(masked: str) -> str:
    """The mask with the bodies of inline test modules taken out, lines and all."""
    while found := _TEST_MODULE.search(masked):
        masked = masked[: found.start()] + masked[closing(masked, found.end() - 1) + 1 :]
    return masked
